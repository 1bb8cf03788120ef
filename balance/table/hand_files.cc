// SPDX-License-Identifier: MIT
// Reading what was set by hand.
#include "balance/table/hand_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <optional>
#include <utility>

#include "loadprobe/base/clock.h"
#include "loadprobe/base/fd.h"

namespace balance {
namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 20;

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

// Nothing: there is no such file.
base::Result<std::optional<std::string>> read_if_there(const std::string& path) {
  const auto fail = [](base::Error error) { return base::Result<std::optional<std::string>>(std::move(error)); };
  // Root reads here what others may have put: a link would show them what they may not read.
  base::Result<base::Fd> file = base::Fd::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!file && is_missing(errno)) return std::optional<std::string>();
  if (!file) return fail(file.error());
  struct stat status = {};
  if (fstat(file->get(), &status) != 0) return fail(base::system_error("cannot stat " + path));
  if (!S_ISREG(status.st_mode)) return fail({base::Fault::io, path + ": is no regular file"});
  std::string text;
  std::array<char, 8192> piece;
  for (;;) {
    const ssize_t got = read(file->get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(base::system_error("cannot read " + path));
    if (got == 0) return std::optional<std::string>(std::move(text));
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostBytes) return fail({base::Fault::io, path + ": is larger than 8 MB"});
  }
}

}  // namespace

bool is_volatile(const std::string& path) {
  return is_below(path, "/run") || is_below(path, "/var/run") || is_below(path, "/dev/shm") || is_below(path, "/tmp");
}

HandFiles hand_files(const Config& config, const StateFiles& files, const StateRoots& roots) {
  const std::string beside = files.by_hand;
  std::string folder = config.keep_dir;
  if (folder.empty() && !config.state_dir.empty()) {
    const bool is_system_one = config.state_dir == roots.standard;
    if (!is_system_one && !is_below(config.state_dir, "/run") && !is_below(config.state_dir, "/var/run") &&
        !is_below(config.state_dir, "/dev/shm")) {
      folder = config.state_dir;
    }
  }
  if (folder.empty()) folder = roots.kept;
  return {state_files(folder, config.file).by_hand, beside};
}

HandFiles hand_files(const Config& config, const StateFiles& files) {
  return hand_files(config, files, system_roots());
}

HandMark mark_of(const HandFiles& files) {
  for (const std::string& path : {files.keep, files.beside}) {
    struct stat status = {};
    if (lstat(path.c_str(), &status) != 0) continue;
    return {.modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
            .bytes = status.st_size,
            .inode = status.st_ino,
            .device = status.st_dev};
  }
  return {};
}

HandClocks hand_clocks() {
  constexpr std::size_t kLetters = 8;  // of the id; enough to tell one boot from another, and short to read
  const base::Seconds wall = base::wall_time();
  return {.wall = static_cast<std::int64_t>(std::floor(wall.count())),
          .boot = base::boot_id().substr(0, kLetters),
          .booted = std::llround((wall - base::since_boot()).count())};
}

base::Result<Kept> read_kept(const HandFiles& files) { return read_kept(files, hand_clocks()); }

base::Result<Kept> read_kept(const HandFiles& files, const HandClocks& now) {
  // The first a second time: balancectl may just have moved what was beside the table.
  for (const std::string& path : {files.keep, files.beside, files.keep}) {
    base::Result<std::optional<std::string>> text = read_if_there(path);
    if (!text) return text.error();
    if (!*text) continue;
    Kept kept{path, parse_hand_text(**text, path)};
    for (HandEntry& entry : kept.text.entries) bring_up_to_date(entry, now);
    return kept;
  }
  return Kept{};
}

SetByHand set_by_hand_of(const HandText& text, const Config& config, Seconds wall_ahead) {
  SetByHand all;
  all.hosts.resize(config.hosts.size());
  for (std::size_t i = 0; i < config.hosts.size(); ++i) {
    const auto entry = std::ranges::find(text.entries, config.hosts[i].name, &HandEntry::host);
    if (entry == text.entries.end()) continue;
    all.hosts[i].weight = entry->weight;
    all.hosts[i].duty = entry->duty;
    if (entry->until) all.hosts[i].until = Instant{Seconds{static_cast<double>(*entry->until)} - wall_ahead};
    all.hosts[i] = by_hand_of(packed(all.hosts[i]));  // as the table will have it
  }
  all.weights_differ = weights_differ(config.hosts, all.hosts);
  return all;
}

std::vector<std::string> strangers(const HandText& text, const Config& config) {
  std::vector<std::string> names;
  for (const HandEntry& entry : text.entries) {
    if (std::ranges::find(config.hosts, entry.host, &HostConfig::name) == config.hosts.end()) {
      names.push_back(entry.host);
    }
  }
  return names;
}

base::Result<Kept> apply_kept(const HandFiles& files, const Config& config, Table& table) {
  constexpr int kTries = 100;
  for (int tries = 1;; ++tries) {
    const std::vector<std::uint64_t> seen = table.words_by_hand();
    const HandMark mark = mark_of(files);
    base::Result<Kept> kept = read_kept(files);
    if (!kept) return kept;
    const SetByHand all = set_by_hand_of(kept->text, config, base::wall_time() - base::now().time_since_epoch());
    if ((table.set_by_hand(all, seen) && mark == mark_of(files)) || tries == kTries) return kept;
  }
}

}  // namespace balance
