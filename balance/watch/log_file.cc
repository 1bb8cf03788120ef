// SPDX-License-Identifier: MIT
#include "balance/watch/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "balance/table/state_dir.h"
#include "loadprobe/base/fd.h"

namespace balance {
namespace {

base::Status write_to(const std::string& path) {
  const base::Result<base::Fd> file =
      base::Fd::open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (!file) return file.error();
  struct stat status = {};
  if (fstat(file->get(), &status) != 0) return base::system_error("cannot stat " + path);
  // A terminal or a pipe may be meant; its mode is its owner's business.
  if (S_ISREG(status.st_mode)) {
    if (base::Status shared = share_with_group(file->get(), path); !shared) return shared;
  }
  if (dup2(file->get(), STDERR_FILENO) < 0) return base::system_error("cannot write the log to " + path);
  return base::ok();
}

}  // namespace

base::Result<LogFile> LogFile::open(const std::string& path) {
  if (base::Status opened = write_to(path); !opened) return std::move(opened).error();
  return LogFile(path);
}

void LogFile::look() {
  struct stat written = {};
  struct stat named = {};
  if (fstat(STDERR_FILENO, &written) != 0 || !S_ISREG(written.st_mode)) return;
  const bool is_named =
      lstat(path_.c_str(), &named) == 0 && named.st_dev == written.st_dev && named.st_ino == written.st_ino;
  if (is_named && written.st_size <= kMostBytes) return;
  if (is_named && std::rename(path_.c_str(), (path_ + ".old").c_str()) != 0) return;
  (void)write_to(path_);
}

}  // namespace balance
