// SPDX-License-Identifier: MIT
// Reading balance.conf from its file.
#include "balance/table/config_file.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <utility>

#include "balance/table/used_config.h"
#include "loadprobe/base/file.h"

#ifndef SYSCONFDIR
#define SYSCONFDIR "/usr/local/etc"
#endif

namespace balance {
namespace {

base::Result<std::string> read_text(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  base::Result<std::string> text = base::read_file(path, kMostBytes);
  if (!text) return base::Error{base::Fault::usage, text.error().what};
  return text;
}

}  // namespace

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
  const base::Result<std::string> text = read_text(path);
  if (!text) return text.error();
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
  base::Result<std::string> text = read_text(path);
  if (!text) return text.error();
  base::Result<Config> config = parse_config(*text, path);
  if (!config) return config.error();
  return ConfigFile(path, *std::move(text), *std::move(config), mark, now);
}

base::Result<ConfigFile> ConfigFile::open_or_used(const std::string& path, base::Instant now, const StateRoots& roots) {
  if (base::Result<ConfigFile> opened = open(path, now)) return opened;
  // Once more, for the mark of what is found faulty; it may be whole by now.
  const Mark mark = mark_of(path);
  base::Result<std::string> text = read_text(path);
  base::Result<Config> config = text ? parse_config(*text, path) : base::Result<Config>(text.error());
  if (config) return ConfigFile(path, *std::move(text), *std::move(config), mark, now);
  base::Result<UsedConfig> used = find_used_config(text ? *text : std::string(), path, roots);
  if (used) {
    ConfigFile file(path, std::move(used->text), std::move(used->config), mark, now);
    file.error_ = std::move(config).error();
    return file;
  }
  if (used.error().fault == base::Fault::unavailable) return std::move(config).error();
  return base::Error{config.error().fault, config.error().what + "\n" + used.error().what};
}

base::Result<ConfigFile> ConfigFile::open_or_used(const std::string& path, base::Instant now) {
  if (base::Result<ConfigFile> opened = open(path, now)) return opened;  // before anything else is asked of the system
  return open_or_used(path, now, system_roots());
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
  base::Result<std::string> text = read_text(path_);
  base::Result<Config> config = text ? parse_config(*text, path_) : base::Result<Config>(text.error());
  if (!config) {
    error_ = std::move(config).error();
    return Refresh::faulty;
  }
  error_ = base::Error{};
  if (config->fingerprint == config_.fingerprint) return Refresh::unchanged;
  text_ = *std::move(text);
  config_ = *std::move(config);
  return Refresh::changed;
}

}  // namespace balance
