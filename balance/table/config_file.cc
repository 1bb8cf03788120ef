// SPDX-License-Identifier: MIT
// Reading balance.conf from its file.
#include "balance/table/config_file.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <utility>

#include "loadprobe/base/file.h"

#ifndef SYSCONFDIR
#define SYSCONFDIR "/usr/local/etc"
#endif

namespace balance {

std::string default_config_file() { return SYSCONFDIR "/balance/balance.conf"; }

std::string config_file_named(const std::string& option, const char* environment) {
  std::string path = option;
  if (path.empty() && environment != nullptr) path = environment;
  if (path.empty()) path = default_config_file();
  if (path.front() == '/') return path;
  std::array<char, PATH_MAX> here{};
  if (getcwd(here.data(), here.size()) == nullptr) return path;
  return std::string(here.data()) + "/" + path;
}

base::Result<Config> read_config(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  base::Result<std::string> text = base::read_file(path, kMostBytes);
  if (!text) return base::Error{base::Fault::usage, text.error().what};
  return parse_config(*text, path);
}

ConfigFile::Mark ConfigFile::mark_of(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return Mark{};
  return Mark{.modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
              .bytes = status.st_size,
              .inode = status.st_ino};
}

base::Result<ConfigFile> ConfigFile::open(const std::string& path, base::Instant now) {
  // The mark first: a change between the two reads is then found at the next look.
  const Mark mark = mark_of(path);
  base::Result<Config> config = read_config(path);
  if (!config) return config.error();
  return ConfigFile(path, *std::move(config), mark, now);
}

Refresh ConfigFile::refresh(base::Instant now) {
  constexpr base::Seconds kBetweenLooks{0.25};
  if (now - looked_ < kBetweenLooks) return Refresh::unchanged;
  looked_ = now;
  const Mark seen = mark_of(path_);
  const bool has_settled = seen == std::exchange(pending_, seen);
  if (seen == mark_ || !has_settled) return Refresh::unchanged;
  return reload(now);
}

Refresh ConfigFile::reload(base::Instant now) {
  looked_ = now;
  mark_ = pending_ = mark_of(path_);
  base::Result<Config> config = read_config(path_);
  if (!config) {
    error_ = std::move(config).error();
    return Refresh::faulty;
  }
  if (config->fingerprint == config_.fingerprint) return Refresh::unchanged;
  config_ = *std::move(config);
  return Refresh::changed;
}

}  // namespace balance
