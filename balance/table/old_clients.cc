// SPDX-License-Identifier: MIT
// The mark is the file's time: writing to mapped memory does not change it everywhere.
#include "balance/table/old_clients.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "balance/table/affinity.h"
#include "balance/table/lease.h"
#include "loadprobe/base/file.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

bool is_name_of_clients(std::string_view name) {
  constexpr std::string_view kEnding = ".clients";
  constexpr std::size_t kDigits = 16;
  return name.size() == kDigits + kEnding.size() && name.ends_with(kEnding) &&
         name.find_first_not_of("0123456789abcdef") == kDigits;
}

// Nothing for what is not ours.
std::optional<std::int64_t> mark_of(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return std::nullopt;
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

// The lease of the file names who made it: 'PROCESS CONFIGURATION'.
bool was_made_for(const std::string& path, const std::string& config_file) {
  constexpr std::size_t kMostBytes = 8192;
  const base::Result<std::string> text = base::read_file(path + ".lease", kMostBytes);
  if (!text) return false;
  const std::size_t space = text->find(' ');
  return space != std::string::npos && base::trim(std::string_view(*text).substr(space)) == config_file;
}

std::vector<std::string> clients_in(const std::string& folder) {
  std::vector<std::string> paths;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    if (is_name_of_clients(entry->d_name)) paths.push_back(folder + entry->d_name);
  }
  return paths;
}

bool remove_unless_marked(const std::string& path, const std::string& config_file, std::int64_t mark) {
  const base::Result<Lease> lease = Lease::take(path + ".lease", config_file);
  if (!lease || mark_of(path) != mark) return false;
  if (unlink(path.c_str()) != 0) return false;
  unlink((path + ".lease").c_str());
  return true;
}

}  // namespace

std::vector<std::string> OldClients::turn(const StateFiles& files, const Config& config, base::Seconds wall,
                                          base::Instant now) {
  const std::string in_use = config.sticky.kind == Sticky::client_wild ? clients_file(files, config) : "";
  if (!in_use.empty() && now - marked_ >= kBetweenMarks) {
    marked_ = now;
    (void)utimensat(AT_FDCWD, in_use.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
  std::vector<std::string> removed;
  if (now - looked_ < kBetweenLooks) return removed;
  looked_ = now;
  const Marks before = std::exchange(seen_, {});
  for (const std::string& path : clients_in(files.table.substr(0, files.table.rfind('/') + 1))) {
    const std::optional<std::int64_t> mark = mark_of(path);
    if (!mark || path == in_use || !was_made_for(path, config.file)) continue;
    const auto earlier = before.find(path);
    const bool is_old = wall.count() - static_cast<double>(*mark) / 1e9 > kSafeAge.count();
    const bool is_unmarked = earlier != before.end() && earlier->second == *mark;
    if (is_old && is_unmarked && remove_unless_marked(path, config.file, *mark)) {
      removed.push_back(path);
    } else {
      seen_.emplace(path, *mark);
    }
  }
  return removed;
}

}  // namespace balance
