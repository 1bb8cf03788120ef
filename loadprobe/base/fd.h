// SPDX-License-Identifier: MIT
// Owns a file descriptor. Everything opened through here is close-on-exec.
// Floor 3. One owner; move it, never share it.
#pragma once

#include <string>
#include <utility>

#include "loadprobe/base/result.h"

namespace base {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int owned) : fd_(owned) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(); }

  // open(2) with O_CLOEXEC added. The error names the path and the system's reason.
  static Result<Fd> open(const std::string& path, int flags, unsigned mode = 0);

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

// Opens /dev/null on those of the descriptors 0, 1 and 2 that are closed, as FastCGI's own specification starts
// programs (1.0, 2.2): else the next file opened would be taken for standard output or error, and written over. First
// thing in main.
void keep_standard_descriptors();

// "cannot open /run/balance/x: Permission denied", from errno.
Error system_error(const std::string& attempt);

}  // namespace base
