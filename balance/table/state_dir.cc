// SPDX-License-Identifier: MIT
// Directories and their owners.
#include "balance/table/state_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "loadprobe/base/fd.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

bool may(const std::string& path, int what) { return faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0; }

bool is_directory(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Made if it was not there: 'cannot make ...' else.
base::Status make_directory(const std::string& path, unsigned mode) {
  if (mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return base::ok();
  return base::system_error("cannot make " + path);
}

std::string private_directory(const StateRoots& roots, unsigned user) {
  return roots.temporary + "/balance-" + std::to_string(user);
}

base::Status check_private(const std::string& path, unsigned user) {
  const auto refuse = [&path](const std::string& found) {
    return base::Error{base::Fault::io, path + ": " + found + "; wanted a directory of our own with mode 0700"};
  };
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return base::system_error("cannot stat " + path);
  if (S_ISLNK(status.st_mode)) return refuse("is a symbolic link");
  if (!S_ISDIR(status.st_mode)) return refuse("is no directory");
  if (status.st_uid != user) return refuse("belongs to user " + std::to_string(status.st_uid));
  if ((status.st_mode & 07777) != 0700) return refuse("is open to others or has other permissions");
  return base::ok();
}

// Whether this user can work there: make files, or at least share the table that is there already.
bool is_usable(const StateFiles& files, const std::string& directory) {
  return is_directory(directory) && (may(directory, W_OK | X_OK) || may(files.table, R_OK | W_OK));
}

base::Result<StateFiles> find_configured(const std::string& directory, const std::string& config_file) {
  if (base::Status made = make_directory(directory, 0755); !made) {
    return std::move(made).error().at("state-dir");
  }
  const StateFiles files = state_files(directory, config_file);
  if (is_usable(files, directory)) return files;
  return base::Error{base::Fault::io,
                     "state-dir: " + directory +
                         (is_directory(directory) ? " cannot be written by user " : " is no directory") +
                         (is_directory(directory) ? std::to_string(geteuid()) : "")};
}

// The users that have a directory under <temporary>.
std::vector<unsigned> users_with_state(const StateRoots& roots) {
  std::vector<unsigned> users;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(roots.temporary.c_str()), closedir);
  constexpr std::string_view kPrefix = "balance-";
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name.substr(0, kPrefix.size()) != kPrefix) continue;
    const std::optional<std::uint64_t> user = base::whole_number(name.substr(kPrefix.size()));
    if (user && *user <= 0xFFFF'FFFF) users.push_back(static_cast<unsigned>(*user));
  }
  std::sort(users.begin(), users.end());
  return users;
}

}  // namespace

StateFiles state_files(const std::string& directory, const std::string& config_file) {
  const std::string stem = directory + "/" + config_file.substr(config_file.rfind('/') + 1);
  return StateFiles{.table = stem + ".table",
                    .lease = stem + ".lease",
                    .starting = stem + ".starting",
                    .log = stem + ".log",
                    .by_hand = stem + ".byhand",
                    .used = stem + ".used",
                    .told = stem + ".told"};
}

StateRoots system_roots() {
  StateRoots roots;
  roots.user = geteuid();
  return roots;
}

base::Result<StateFiles> find_state(const std::string& configured, const std::string& config_file,
                                    const StateRoots& roots) {
  if (!configured.empty()) return find_configured(configured, config_file);
  const StateFiles standard = state_files(roots.standard, config_file);
  if (make_directory(roots.standard, 0755) && is_usable(standard, roots.standard)) return standard;
  const std::string own = private_directory(roots, roots.user);
  if (base::Status made = make_directory(own, 0700); !made) return made.error();
  if (base::Status fit = check_private(own, roots.user); !fit) return fit.error();
  return state_files(own, config_file);
}

base::Result<StateFiles> find_state(const std::string& configured, const std::string& config_file) {
  return find_state(configured, config_file, system_roots());
}

std::vector<StateFiles> places_of_state(const std::string& configured, const std::string& config_file,
                                        const StateRoots& roots) {
  if (!configured.empty()) return {state_files(configured, config_file)};
  std::vector<StateFiles> places{state_files(roots.standard, config_file)};
  const std::string own = private_directory(roots, roots.user);
  if (check_private(own, roots.user)) places.push_back(state_files(own, config_file));
  return places;
}

std::vector<StateFiles> existing_states(const std::string& configured, const std::string& config_file,
                                        const StateRoots& roots) {
  std::vector<StateFiles> found;
  const auto add = [&](const std::string& directory) {
    StateFiles files = state_files(directory, config_file);
    struct stat status = {};
    if (lstat(files.table.c_str(), &status) == 0 && S_ISREG(status.st_mode)) found.push_back(std::move(files));
  };
  add(configured.empty() ? roots.standard : configured);
  if (!configured.empty()) return found;
  const std::vector<unsigned> users = roots.user == 0 ? users_with_state(roots) : std::vector<unsigned>{roots.user};
  for (const unsigned user : users) {
    const std::string directory = private_directory(roots, user);
    if (check_private(directory, user)) add(directory);
  }
  return found;
}

base::Status share_with_group(int fd, const std::string& path) {
  struct stat file = {};
  if (fstat(fd, &file) != 0) return base::system_error("cannot stat " + path);
  if (file.st_uid != geteuid()) return base::ok();  // its owner saw to it
  struct stat directory = {};
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  // Best effort: an owner outside that group may not give files to it; they then stay among the owner's processes.
  if (stat(parent.c_str(), &directory) == 0) {
    // root's poolwatch works for whoever owns the directory: a table of root's own would lock the web server out.
    const bool is_root = geteuid() == 0;
    const bool group_may = is_root || (directory.st_mode & S_IWGRP) != 0;
    const uid_t owner = is_root ? directory.st_uid : static_cast<uid_t>(-1);
    if (group_may && fchown(fd, owner, directory.st_gid) != 0) errno = 0;
  }
  if (fchmod(fd, 0660) != 0) return base::system_error("cannot set the mode of " + path);
  return base::ok();
}

}  // namespace balance
