// SPDX-License-Identifier: MIT
// Floor 3.
#include "loadprobe/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "loadprobe/base/fd.h"

namespace base {
namespace {

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return system_error("cannot write " + path);
    }
  }
  return ok();
}

struct Form {
  unsigned mode = 0644;
  const Owner* owner = nullptr;
};

Status fill_and_rename(Fd file, const std::string& neighbour, const std::string& path, std::string_view content,
                       const Form& form) {
  if (Status written = write_all(file.get(), content, neighbour); !written) return written;
  if (form.owner != nullptr && ::fchown(file.get(), form.owner->user, form.owner->group) != 0) errno = 0;
  if (::fchmod(file.get(), static_cast<mode_t>(form.mode)) != 0)
    return system_error("cannot set the mode of " + neighbour);
  if (::fsync(file.get()) != 0) return system_error("cannot flush " + neighbour);
  file.close();
  if (::rename(neighbour.c_str(), path.c_str()) != 0) return system_error("cannot replace " + path);
  return ok();
}

Status write_beside(Fd file, const std::string& neighbour, const std::string& path, std::string_view content,
                    const Form& form) {
  if (!file) return system_error("cannot write beside " + path);
  Status written = fill_and_rename(std::move(file), neighbour, path, content, form);
  if (!written) ::unlink(neighbour.c_str());
  return written;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t most_bytes) {
  Result<Fd> file = Fd::open(path, O_RDONLY | O_NONBLOCK);
  if (!file) return file.error();
  struct stat status = {};
  if (::fstat(file->get(), &status) != 0) return system_error("cannot look at " + path);
  if (!S_ISREG(status.st_mode)) return Error{Fault::io, path + " is no regular file"};
  return read_all(file->get(), path, most_bytes);
}

Result<std::string> read_all(int fd, const std::string& path, std::size_t most_bytes) {
  std::string content;
  char buffer[8192];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got == 0) return content;
    if (got < 0 && errno != EINTR) return system_error("cannot read " + path);
    if (got > 0) content.append(buffer, static_cast<std::size_t>(got));
    if (content.size() > most_bytes) {
      return Error{Fault::io, path + " is larger than wanted: more than " + std::to_string(most_bytes) + " bytes"};
    }
  }
}

Status write_file(const std::string& path, std::string_view content, unsigned mode) {
  std::string neighbour = path + ".XXXXXX";
  Fd file(::mkostemp(neighbour.data(), O_CLOEXEC));
  return write_beside(std::move(file), neighbour, path, content, {mode, nullptr});
}

Status write_file_for(const Owner& owner, const std::string& path, std::string_view content, unsigned mode) {
  // One name for all, so that those who are killed while they write leave one file, and that to the next.
  const std::string neighbour = path + ".new";
  ::unlink(neighbour.c_str());
  Fd file(::open(neighbour.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (Status written = write_beside(std::move(file), neighbour, path, content, {mode, &owner}); !written) {
    return written;
  }
  const Result<Fd> folder = Fd::open(path.substr(0, path.rfind('/') + 1), O_RDONLY | O_DIRECTORY);
  if (!folder || ::fsync(folder->get()) != 0) return system_error("cannot flush the folder of " + path);
  return ok();
}

}  // namespace base
