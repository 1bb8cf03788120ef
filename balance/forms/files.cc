// SPDX-License-Identifier: MIT
#include "balance/forms/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "balance/forms/rewrite.h"
#include "loadprobe/base/fd.h"

namespace balance::forms {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr mode_t kAnyWrite = S_IWUSR | S_IWGRP | S_IWOTH;

base::Error refuse(const std::string& path, const std::string& why) {
  return base::Error{base::Fault::io, path + ": " + why};
}

base::Result<std::string> read_all(const base::Fd& file, const std::string& path) {
  std::string bytes;
  std::array<char, 65536> block{};
  while (true) {
    const auto got = read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::system_error("cannot read " + path);
    if (got == 0) return bytes;
    bytes.append(block.data(), static_cast<std::size_t>(got));
    if (bytes.size() > kMostBytes) return refuse(path, "has more than 16 MB, wanted a page");
  }
}

base::Status write_all(const base::Fd& file, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const auto written = write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return base::system_error("cannot write " + path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return base::ok();
}

// A new file beside the page; removed unless it got its name.
class Neighbour {
 public:
  static base::Result<Neighbour> make(const PageFile& page, std::string_view content);
  Neighbour(Neighbour&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  Neighbour& operator=(Neighbour&&) = delete;
  ~Neighbour() {
    if (!path_.empty()) unlink(path_.c_str());
  }

  // renameat2's flags: RENAME_NOREPLACE fails with EEXIST. False leaves errno.
  bool rename_to(const std::string& name, unsigned flags) {
    if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name.c_str(), flags) != 0) {
      // Some file systems know no flags; then a look before must do.
      if (errno != EINVAL || flags == 0) return false;
      struct stat there {};
      if (lstat(name.c_str(), &there) == 0) {
        errno = EEXIST;
        return false;
      }
      if (rename(path_.c_str(), name.c_str()) != 0) return false;
    }
    path_.clear();
    return true;
  }

 private:
  explicit Neighbour(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

base::Result<Neighbour> Neighbour::make(const PageFile& page, std::string_view content) {
  std::string name = page.path + ".XXXXXX";
  const base::Fd file(mkostemp(name.data(), O_CLOEXEC));
  if (!file) return base::system_error("cannot make a file beside " + page.path);
  Neighbour neighbour(name);
  struct stat made {};
  if (fstat(file.get(), &made) != 0) return base::system_error("cannot look at " + name);
  const auto& wanted = page.status;
  const bool owned = made.st_uid == wanted.st_uid && made.st_gid == wanted.st_gid;
  if (!owned && fchown(file.get(), wanted.st_uid, wanted.st_gid) != 0) {
    return base::system_error(page.path + ": its owner and group cannot be kept");
  }
  if (fchmod(file.get(), wanted.st_mode & 07777) != 0) return base::system_error("cannot set the mode of " + name);
  if (auto written = write_all(file, content, name); !written) return std::move(written).error();
  if (fsync(file.get()) != 0) return base::system_error("cannot write " + name);
  return neighbour;
}

base::Status keep_original(const PageFile& page) {
  const auto name = page.path + ".orig";
  struct stat there {};
  if (lstat(name.c_str(), &there) == 0) return base::ok();
  auto copy = Neighbour::make(page, page.bytes);
  if (!copy) return std::move(copy).error();
  if (!copy->rename_to(name, RENAME_NOREPLACE) && errno != EEXIST) return base::system_error("cannot make " + name);
  const std::array<timespec, 2> times = {page.status.st_atim, page.status.st_mtim};
  utimensat(AT_FDCWD, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);  // its age is a courtesy
  return base::ok();
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

base::Status may_write(const PageFile& page) {
  if ((page.status.st_mode & kAnyWrite) == 0 || access(page.path.c_str(), W_OK) != 0) {
    return refuse(page.path, "is read-only, wanted a file that may be written");
  }
  return base::ok();
}

void walk_into(const fs::directory_entry& entry, std::vector<std::string>& folders, Walk& walk) {
  std::error_code error;
  const auto kind = entry.symlink_status(error).type();
  const auto path = entry.path().string();
  if (kind == fs::file_type::directory) {
    if (!entry.path().filename().string().starts_with('.')) folders.push_back(path);
  } else if (!is_page_name(path)) {
    return;
  } else if (kind == fs::file_type::regular) {
    walk.pages.push_back(path);
  } else if (kind == fs::file_type::symlink) {
    walk.errors.push_back(path + ": is a symbolic link, not followed; name it to have its target rewritten");
  }
}

}  // namespace

base::Result<PageFile> read_page(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (!real) return base::system_error("cannot open " + path);
  PageFile page{real.get(), "", {}};
  // Not blocking: a FIFO without a writer would hold us.
  auto file = base::Fd::open(page.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return std::move(file).error();
  if (fstat(file->get(), &page.status) != 0) return base::system_error("cannot look at " + path);
  if (S_ISDIR(page.status.st_mode)) return refuse(path, "is a folder, wanted a file (or -r)");
  if (!S_ISREG(page.status.st_mode)) return refuse(path, "is no regular file");
  auto bytes = read_all(*file, path);
  if (!bytes) return std::move(bytes).error();
  page.bytes = *std::move(bytes);
  return page;
}

base::Status replace_page(const PageFile& page, std::string_view content) {
  if (auto may = may_write(page); !may) return may;
  auto fresh = Neighbour::make(page, content);
  if (!fresh) return std::move(fresh).error();
  if (auto kept = keep_original(page); !kept) return kept;
  struct stat now {};
  if (lstat(page.path.c_str(), &now) != 0 || !is_same(now, page.status)) {
    return refuse(page.path, "changed while it was being rewritten");
  }
  if (!fresh->rename_to(page.path, 0)) return base::system_error("cannot replace " + page.path);
  return base::ok();
}

Walk pages_below(const std::string& folder) {
  Walk walk;
  std::vector<std::string> folders{folder};
  while (!folders.empty()) {
    const auto here = std::exchange(folders.back(), "");
    folders.pop_back();
    std::error_code error;
    auto entry = fs::directory_iterator(here, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) walk_into(*entry, folders, walk);
    if (error) walk.errors.push_back("cannot read " + here + ": " + error.message());
  }
  std::sort(walk.pages.begin(), walk.pages.end());
  std::sort(walk.errors.begin(), walk.errors.end());
  return walk;
}

}  // namespace balance::forms
