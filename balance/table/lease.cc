// SPDX-License-Identifier: MIT
// flock(2) and the file's identity.
#include "balance/table/lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

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

// 'PROCESS CONFIGURATION', as its holder wrote it.
LeaseState held_state(int fd) {
  LeaseState state{Holding::held, std::nullopt, ""};
  std::array<char, PATH_MAX + 24> text{};
  const ssize_t length = pread(fd, text.data(), text.size(), 0);
  if (length <= 0) return state;
  std::string_view line(text.data(), static_cast<std::size_t>(length));
  line = base::trim(line.substr(0, line.find('\n')));
  const std::size_t space = line.find(' ');
  const auto number = base::whole_number(line.substr(0, space));
  if (!number || *number == 0 || *number > 0x7FFF'FFFF) return state;
  state.process = static_cast<long>(*number);
  if (space != std::string_view::npos) state.config = line.substr(space + 1);
  return state;
}

base::Error held_by(const std::string& path, int fd) {
  const LeaseState state = held_state(fd);
  return base::Error{base::Fault::unavailable,
                     path + ": the lease is held" +
                         (state.process ? " by process " + std::to_string(*state.process) : "") +
                         (state.config.empty() ? "" : " for " + base::escaped(state.config))};
}

base::Status write_holder(int fd, const std::string& path, const std::string& config) {
  const std::string text = std::to_string(getpid()) + (config.empty() ? "" : " " + config) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return base::system_error("cannot write " + path);
  }
  return base::ok();
}

}  // namespace

base::Result<Lease> Lease::take(const std::string& path, const std::string& config) {
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
    if (base::Status written = write_holder(file->get(), path, config); !written) return written.error();
    return Lease(*std::move(file), path);
  }
  return base::Error{base::Fault::unavailable, path + ": is deleted again and again while it is being locked"};
}

bool Lease::is_current() const { return names(path_, fd_.get()); }

LeaseState lease_state(const std::string& path) {
  const base::Result<base::Fd> file = base::Fd::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return LeaseState{missing ? Holding::free : Holding::unknown, std::nullopt, ""};
  }
  if (lock(file->get(), LOCK_SH)) return LeaseState{};
  if (errno != EWOULDBLOCK) return LeaseState{Holding::unknown, std::nullopt, ""};
  return held_state(file->get());
}

std::optional<std::string> conflict(const LeaseState& lease, const StateFiles& files, const std::string& config_file) {
  if (lease.holding != Holding::held || lease.config.empty() || lease.config == config_file) return std::nullopt;
  struct stat theirs = {};
  struct stat ours = {};
  const bool both_there = stat(lease.config.c_str(), &theirs) == 0 && stat(config_file.c_str(), &ours) == 0;
  if (both_there && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) return std::nullopt;
  return files.lease + ": is held for " + base::escaped(lease.config) + ", and " + base::escaped(config_file) +
         " has the same base name; wanted another state-dir or another name for one of the two";
}

}  // namespace balance
