// SPDX-License-Identifier: MIT
// SIGTERM, SIGINT and SIGHUP as something to wait for: no handler runs, no call is interrupted.
// Floor 3. One object a process, made before any thread.
#pragma once

#include "loadprobe/base/fd.h"
#include "loadprobe/base/result.h"

namespace balance {

class Signals {
 public:
  // Blocks the three and ignores SIGPIPE.
  static base::Result<Signals> create();

  int fd() const { return fd_.get(); }  // readable when one has come

  struct Come {
    bool leave = false;   // SIGTERM or SIGINT
    bool reload = false;  // SIGHUP
  };
  Come take();

 private:
  explicit Signals(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
};

}  // namespace balance
