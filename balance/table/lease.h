// SPDX-License-Identifier: MIT
// The lease: the duty to refresh the table, held by one process at a time. A flock(2) on a close-on-exec descriptor;
// the kernel frees it when its holder dies, however. Floor 3.
#pragma once

#include <optional>
#include <string>

#include "balance/table/state_dir.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/result.h"

namespace balance {

// REQUIRES of its holder: no fork after it was taken, unless the child closes or execs at once: the lock lives as long
// as any copy of the descriptor.
class Lease {
 public:
  // Takes the lease of this file, which is made if need be. Fault::unavailable if somebody else holds it (the error
  // names the process). Whoever asks is_held() has it for microseconds, so this tries for up to 100 ms. `config` is the
  // configuration it is taken for, told to whoever asks.
  static base::Result<Lease> take(const std::string& path, const std::string& config = "");

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
  std::string config{};         // the same
};
// Whether somebody holds it. Makes nothing; a file that is not there is free.
LeaseState lease_state(const std::string& path);

// Files are named for the base name of a configuration. Where the lease is held for another one of the same base name,
// a sentence that says so and what to do; else nothing.
std::optional<std::string> conflict(const LeaseState& lease, const StateFiles& files, const std::string& config_file);

}  // namespace balance
