// SPDX-License-Identifier: MIT
#include "balance/ctl/set_by_hand.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <utility>

#include "balance/ctl/find_table.h"
#include "balance/table/hand_files.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/file.h"

namespace balance {
namespace {

constexpr base::Seconds kPatience{10};

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool exists(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0;
}

// A lock on a file beside `path`: that one itself is replaced at every change.
base::Result<base::Fd> lock(const std::string& path) {
  const std::string beside = path + ".lock";
  base::Result<base::Fd> file = base::Fd::open(beside, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (!file) return file;
  if (base::Status shared = share_with_group(file->get(), beside); !shared) return shared.error();
  const base::Instant deadline = base::now() + kPatience;
  while (flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return base::system_error("cannot lock " + beside);
    if (base::now() > deadline) {
      return base::Error{base::Fault::io, beside + ": another process holds it; wanted it within 10s"};
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&pause, nullptr);
  }
  return file;
}

// Where to write, locked.
struct Place {
  std::string path;
  base::Fd lock;
  std::string why_not_kept;  // "": it is in keep-dir
};

base::Error may_not(const base::Error& why) {
  return base::Error{base::Fault::io, why.what + "; wanted root, or the owner of that folder"};
}

base::Result<Place> find_place(const HandFiles& files) {
  const std::string folder = folder_of(files.keep);
  if (mkdir(folder.c_str(), 0755) == 0) {
    (void)chmod(folder.c_str(), 0755);  // whatever the umask: poolwatch and balance are other users
  } else if (errno != EEXIST) {
    const base::Error why = base::system_error("cannot make " + folder);
    if (files.beside.empty()) return may_not(why);
    base::Result<base::Fd> locked = lock(files.beside);
    if (!locked) return may_not(base::Error{base::Fault::io, why.what + "; " + locked.error().what});
    return Place{files.beside, *std::move(locked), why.what};
  }
  base::Result<base::Fd> locked = lock(files.keep);
  if (locked) return Place{files.keep, *std::move(locked), ""};
  if (exists(files.keep) || files.beside.empty() || files.beside == files.keep) return may_not(locked.error());
  base::Result<base::Fd> beside = lock(files.beside);
  if (!beside) return may_not(base::Error{base::Fault::io, locked.error().what + "; " + beside.error().what});
  return Place{files.beside, *std::move(beside), locked.error().what};
}

base::Owner owner_for(const std::string& path) {
  struct stat status = {};
  const bool known = lstat(path.c_str(), &status) == 0 || stat(folder_of(path).c_str(), &status) == 0;
  return known ? base::Owner{status.st_uid, status.st_gid} : base::Owner{geteuid(), getegid()};
}

struct Tables {
  StateFiles files;  // of the freshest, or of where one would be
  std::vector<std::string> paths;
  std::vector<std::string> notes;
};

base::Result<Tables> find_tables(const Config& config, const StateRoots& roots, const std::string& boot_id) {
  Tables tables;
  TableSearch search = find_table(config, roots, boot_id);
  if (search.found) {
    tables.files = search.found->files;
    tables.paths = std::move(search.others);
    tables.paths.push_back(tables.files.table);
    return tables;
  }
  const bool is_root = roots.user == 0;
  const std::string folder = config.state_dir.empty() ? roots.standard : config.state_dir;
  // Somebody who runs no balancer here would write into a folder of their own, and nobody would ever read it.
  if (!is_root && faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return base::Error{base::Fault::io, "user " + std::to_string(roots.user) + " may not change this pool: " +
                                            why_none(search) + "; wanted root, or the user of the web server"};
  }
  tables.files = state_files(folder, config.file);
  tables.notes.push_back(why_none(search) + ": it counts as soon as poolwatch or balance runs");
  return tables;
}

// Into every table, and once more where poolwatch has put another one in its place meanwhile.
void tell_tables(const Tables& tables, const HandFiles& files, const Config& config, const std::string& boot_id,
                 HandChanged& done) {
  constexpr int kTries = 10;
  const TableShape shape{config.fingerprint, config.hosts.size(), boot_id};
  for (const std::string& path : tables.paths) {
    for (int tries = 0; tries < kTries; ++tries) {
      base::Result<Table> table = Table::open(path, shape);
      base::Result<Kept> told = table ? apply_kept(files, config, *table) : base::Result<Kept>(table.error());
      if (told && !table->is_current(path)) continue;
      if (told) {
        done.tables.push_back(path);
      } else {
        done.notes.push_back(told.error().what + ": it counts within a second, if poolwatch runs");
      }
      break;
    }
  }
}

void forget_what_is_over(std::vector<HandEntry>& entries, std::int64_t now) {
  for (HandEntry& entry : entries) {
    if (entry.until && *entry.until <= now) forget_duty(entry);
  }
  std::erase_if(entries, [](const HandEntry& entry) { return !says_anything(entry); });
}

void add_notes(const Place& place, const HandText& text, const Config& config, HandChanged& done) {
  if (!place.why_not_kept.empty()) {
    done.notes.push_back("not kept in keep-dir: " + place.why_not_kept + "; it is in " + place.path);
  }
  if (is_volatile(place.path)) {
    done.notes.push_back(place.path + " does not outlive a reboot; set keep-dir to a folder that does");
  }
  for (const std::string& fault : text.faults) done.notes.push_back(fault + " (left out)");
  const std::vector<std::string> names = strangers(text, config);
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    std::string note = place.path + ": " + names[i] + " is no host of " + config.file;
    note.append("; 'balancectl reset ").append(names[i]).append("' forgets it");
    done.notes.push_back(std::move(note));
  }
  if (names.size() > kMostNamed) {
    done.notes.push_back(place.path + ": " + std::to_string(names.size() - kMostNamed) + " more are no hosts of it");
  }
}

}  // namespace

bool leaves_nobody(const Config& config, const std::vector<HandEntry>& entries, std::int64_t now) {
  return std::ranges::none_of(config.hosts, [&](const HostConfig& host) {
    const auto entry = std::ranges::find(entries, host.name, &HandEntry::host);
    if (entry == entries.end()) return host.weight > 0;
    const bool is_over = entry->until && *entry->until <= now;
    return entry->weight.value_or(host.weight) > 0 && (is_over || entry->duty == loadprobe::Duty::serving);
  });
}

HandEntry& entry_of(std::vector<HandEntry>& entries, const std::string& host) {
  const auto found = std::ranges::find(entries, host, &HandEntry::host);
  if (found != entries.end()) return *found;
  entries.push_back({});
  entries.back().host = host;
  return entries.back();
}

base::Result<HandChanged> change_by_hand(const Config& config, const StateRoots& roots, const std::string& boot_id,
                                         const HandChange& change) {
  base::Result<Tables> tables = find_tables(config, roots, boot_id);
  if (!tables) return tables.error();
  const HandFiles files = hand_files(config, tables->files, roots);
  base::Result<Place> place = find_place(files);
  if (!place) return place.error();
  const HandClocks clocks = hand_clocks();
  base::Result<Kept> kept = read_kept(files, clocks);
  if (!kept) return kept.error();
  const std::int64_t now = clocks.wall;
  HandText text = std::move(kept->text);
  forget_what_is_over(text.entries, now);
  if (base::Status changed = change(text.entries, now); !changed) return changed.error();
  std::erase_if(text.entries, [](const HandEntry& entry) { return !says_anything(entry); });
  for (HandEntry& entry : text.entries) bring_up_to_date(entry, clocks);  // the new ones: says in which boot they began
  const std::string words = hand_text_of(text.entries, config.file);
  if (base::Status written = base::write_file_for(owner_for(place->path), place->path, words, 0644); !written) {
    return may_not(written.error());
  }
  if (place->path == files.keep && files.beside != files.keep && !files.beside.empty()) unlink(files.beside.c_str());
  HandChanged done;
  done.path = place->path;
  done.notes = tables->notes;
  add_notes(*place, text, config, done);
  tell_tables(*tables, files, config, boot_id, done);
  return done;
}

}  // namespace balance
