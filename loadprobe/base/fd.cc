// SPDX-License-Identifier: MIT
// Floor 3.
#include "loadprobe/base/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace base {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

Result<Fd> Fd::open(const std::string& path, int flags, unsigned mode) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0) return Fd(fd);
    if (errno != EINTR) return system_error("cannot open " + path);
  }
}

// Linux frees the descriptor even when close(2) says EINTR: never called twice.
void Fd::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void keep_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;  // the lowest free one: this
  }
}

Error system_error(const std::string& attempt) {
  const int code = errno;
  const char* reason = strerrordesc_np(code);  // strerror(3) would ask the locale
  return Error{Fault::io, attempt + ": " + (reason ? std::string(reason) : "error " + std::to_string(code))};
}

}  // namespace base
