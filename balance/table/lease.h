// SPDX-License-Identifier: MIT
// The lease: the duty to refresh the table, held by one process at a time. A flock(2) on a close-on-exec descriptor;
// the kernel frees it when its holder dies, however. Floor 3.
#pragma once

#include <optional>
#include <string>

#include "loadprobe/base/fd.h"
#include "loadprobe/base/result.h"

namespace balance {

// REQUIRES of its holder: no fork after it was taken, unless the child closes or execs at once: the lock lives as long
// as any copy of the descriptor.
class Lease {
 public:
  // Takes the lease of this file, which is made if need be. Fault::unavailable if somebody else holds it (the error
  // names the process). Whoever asks is_held() has it for microseconds, so this tries for up to 100 ms.
  static base::Result<Lease> take(const std::string& path);

  // False when the file was deleted or replaced meanwhile: others can then take a lease of the same name, and the
  // holder should give up.
  bool is_current() const;

 private:
  Lease(base::Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  base::Fd fd_;
  std::string path_;
};

enum class Holding {
  free,
  held,
  unknown,  // the file may not be read
};
struct LeaseState {
  Holding holding = Holding::free;
  std::optional<long> process;  // of the holder, as it wrote it: information, not truth
};
// Whether somebody holds it. Makes nothing; a file that is not there is free.
LeaseState lease_state(const std::string& path);

}  // namespace balance
