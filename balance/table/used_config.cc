// SPDX-License-Identifier: MIT
// The copy is the configuration's text behind a first line that names its file.
#include "balance/table/used_config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "loadprobe/base/fd.h"
#include "loadprobe/base/file.h"
#include "loadprobe/base/settings.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::size_t kMostBytes = (std::size_t{4} << 20) + 8192;  // of a configuration, and the first line
constexpr std::string_view kFirstWords = "# In use, kept by poolwatch: ";

std::string first_line(const std::string& config_file, std::string_view text) {
  return std::string(kFirstWords) + std::to_string(base::fingerprint(text)) + " " + config_file + "\n";
}

// What the first line says; the fingerprint shows damage.
struct Head {
  std::uint64_t fingerprint = 0;
  std::string config_file;
};
std::optional<Head> head_of(std::string_view line) {
  if (!line.starts_with(kFirstWords)) return std::nullopt;
  line.remove_prefix(kFirstWords.size());
  const std::size_t space = line.find(' ');
  const std::optional<std::uint64_t> fingerprint = base::whole_number(line.substr(0, space));
  if (!fingerprint || space == std::string_view::npos) return std::nullopt;
  return Head{*fingerprint, std::string(line.substr(space + 1))};
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one = {}, other = {};
  if (a == b) return true;
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

// Whoever may write into the folder could put a copy there. It would lead clients where it likes, so it counts only if
// it comes from those who decide about the folder itself.
base::Status check_owner(int fd, const std::string& path, unsigned user) {
  const auto refuse = [&path](const std::string& found, const std::string& wanted) {
    return base::Error{base::Fault::io, path + ": " + found + "; wanted " + wanted};
  };
  struct stat file = {}, folder = {};
  if (fstat(fd, &file) != 0) return base::system_error("cannot stat " + path);
  if (stat(folder_of(path).c_str(), &folder) != 0) return base::system_error("cannot stat " + folder_of(path));
  if (!S_ISREG(file.st_mode)) return refuse("is no regular file", "one");
  if ((file.st_mode & 0022) != 0) return refuse("may be written by others", "its owner alone");
  const bool is_trusted =
      file.st_uid == 0 || file.st_uid == folder.st_uid || (folder.st_uid == 0 && file.st_uid == user);
  if (is_trusted) return base::ok();
  return refuse("belongs to user " + std::to_string(file.st_uid), "root or the owner of its folder");
}

base::Result<std::string> read_copy(const std::string& path, unsigned user) {
  base::Result<base::Fd> file = base::Fd::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!file) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return base::Error{is_missing ? base::Fault::unavailable : base::Fault::io, file.error().what};
  }
  if (base::Status fit = check_owner(file->get(), path, user); !fit) return fit.error();
  return base::read_all(file->get(), path, kMostBytes);
}

base::Owner owner_in(const std::string& folder) {
  base::Owner owner{geteuid(), getegid()};
  struct stat status = {};
  if (stat(folder.c_str(), &status) != 0) return owner;
  const bool is_root = owner.user == 0;
  if (is_root) owner.user = status.st_uid;  // as of the table: share_with_group()
  if (is_root || (status.st_mode & S_IWGRP) != 0) owner.group = status.st_gid;
  return owner;
}

}  // namespace

base::Status keep_used_config(const StateFiles& files, const std::string& config_file, std::string_view text) {
  const std::string copy = first_line(config_file, text).append(text);
  if (config_file.find('\n') != std::string::npos) return base::ok();  // its name would be lines of the copy
  const base::Result<std::string> before = read_copy(files.used, geteuid());
  if (before && *before == copy) return base::ok();
  constexpr unsigned kMode = 0640;
  base::Status written = base::write_file_for(owner_in(folder_of(files.used)), files.used, copy, kMode);
  if (!written) unlink(files.used.c_str());
  return written;
}

base::Result<UsedConfig> read_used_config(const StateFiles& files, const std::string& config_file, unsigned user) {
  base::Result<std::string> copy = read_copy(files.used, user);
  if (!copy) return copy.error();
  const std::string_view line = std::string_view(*copy).substr(0, copy->find('\n'));
  const std::optional<Head> head = head_of(line);
  if (!head || !is_same_file(head->config_file, config_file)) {
    return base::Error{base::Fault::io, files.used + ": is no copy of " + config_file};
  }
  std::string text = copy->substr(std::min(line.size() + 1, copy->size()));
  base::Result<Config> config = parse_config(text, config_file);
  if (!config || config->fingerprint != head->fingerprint) {
    return base::Error{base::Fault::io, files.used + ": is damaged"};
  }
  return UsedConfig{std::move(text), *std::move(config)};
}

base::Result<UsedConfig> find_used_config(std::string_view faulty_text, const std::string& config_file,
                                          const StateRoots& roots) {
  const std::string named = state_dir_in(faulty_text);
  std::vector<StateFiles> places = places_of_state(named, config_file, roots);
  if (!named.empty()) {  // the line may be what was edited
    for (StateFiles& place : places_of_state("", config_file, roots)) places.push_back(std::move(place));
  }
  std::string refusals;
  for (const StateFiles& place : places) {
    base::Result<UsedConfig> used = read_used_config(place, config_file, roots.user);
    if (used) return used;
    if (used.error().fault == base::Fault::unavailable) continue;
    refusals += (refusals.empty() ? "" : "; ") + used.error().what;
  }
  if (!refusals.empty()) return base::Error{base::Fault::io, refusals};
  return base::Error{base::Fault::unavailable, "no configuration was in use before"};
}

std::string state_dir_in(std::string_view faulty_text) {
  std::string last;
  for (const base::Setting& setting : base::sound_settings(faulty_text, "").list) {
    if (setting.key == "state-dir" && setting.value.starts_with('/')) last = setting.value;
  }
  return last;
}

bool is_time_to_tell(const StateFiles& files, base::Seconds wall) {
  constexpr double kPauseSeconds = 10;
  const base::Result<base::Fd> mark =
      base::Fd::open(files.told, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  struct stat status = {};
  if (!mark || fstat(mark->get(), &status) != 0) return true;
  // A new one is empty: it was told of nothing yet.
  const double ago = wall.count() - static_cast<double>(status.st_mtim.tv_sec);
  if (status.st_size > 0 && ago >= 0 && ago < kPauseSeconds) return false;
  (void)share_with_group(mark->get(), files.told);
  if (pwrite(mark->get(), "\n", 1, 0) != 1) return true;
  return true;
}

}  // namespace balance
