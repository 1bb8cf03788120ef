// SPDX-License-Identifier: MIT
// flock(2) and the file's identity.
#include "balance/table/lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "balance/table/state_dir.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr int kTries = 20;
constexpr long kPauseNanoseconds = 5'000'000;

bool lock(int fd, int how) {
  while (flock(fd, how | LOCK_NB) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

// Whether `path` names the file behind `fd`: it may have been deleted between our open and our lock.
bool names(const std::string& path, int fd) {
  struct stat named = {};
  struct stat held = {};
  return fstat(fd, &held) == 0 && lstat(path.c_str(), &named) == 0 && named.st_dev == held.st_dev &&
         named.st_ino == held.st_ino;
}

std::optional<long> process_in(int fd) {
  std::array<char, 24> text{};
  const ssize_t length = pread(fd, text.data(), text.size(), 0);
  if (length <= 0) return std::nullopt;
  const auto number = base::whole_number(base::trim({text.data(), static_cast<std::size_t>(length)}));
  if (!number || *number == 0 || *number > 0x7FFF'FFFF) return std::nullopt;
  return static_cast<long>(*number);
}

base::Error held_by(const std::string& path, int fd) {
  const std::optional<long> process = process_in(fd);
  return base::Error{base::Fault::unavailable,
                     path + ": the lease is held" + (process ? " by process " + std::to_string(*process) : "")};
}

base::Status write_process(int fd, const std::string& path) {
  const std::string text = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return base::system_error("cannot write " + path);
  }
  return base::ok();
}

}  // namespace

base::Result<Lease> Lease::take(const std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    base::Result<base::Fd> file = base::Fd::open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (!file) return file.error();
    if (!lock(file->get(), LOCK_EX)) {
      if (errno != EWOULDBLOCK) return base::system_error("cannot lock " + path);
      if (i + 1 == kTries) return held_by(path, file->get());
      const timespec pause{.tv_sec = 0, .tv_nsec = kPauseNanoseconds};
      nanosleep(&pause, nullptr);
      continue;
    }
    if (!names(path, file->get())) continue;
    if (base::Status shared = share_with_group(file->get(), path); !shared) return shared.error();
    if (base::Status written = write_process(file->get(), path); !written) return written.error();
    return Lease(*std::move(file), path);
  }
  return base::Error{base::Fault::unavailable, path + ": is deleted again and again while it is being locked"};
}

bool Lease::is_current() const { return names(path_, fd_.get()); }

LeaseState lease_state(const std::string& path) {
  const base::Result<base::Fd> file = base::Fd::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return LeaseState{errno == ENOENT || errno == ENOTDIR ? Holding::free : Holding::unknown, std::nullopt};
  if (lock(file->get(), LOCK_SH)) return LeaseState{};
  return LeaseState{errno == EWOULDBLOCK ? Holding::held : Holding::unknown, process_in(file->get())};
}

}  // namespace balance
