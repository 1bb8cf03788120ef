// SPDX-License-Identifier: MIT
// Where what was set by hand is kept, over every restart and over a reboot of the machine; and what it says to a table.
// Written by balancectl (balance/ctl/set_by_hand.h); read by poolwatch, and by a balance that has no table.
// Floor 3. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/ground/hand_file.h"
#include "balance/table/state_dir.h"
#include "balance/table/table.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

// The file in keep-dir counts where it exists, else the one beside the table. keep-dir is /var/lib/balance unless set;
// where state-dir is set to a folder that a reboot does not empty, it is that.
struct HandFiles {
  std::string keep;
  std::string beside;  // may be the same
};
HandFiles hand_files(const Config& config, const StateFiles& files, const StateRoots& roots);
HandFiles hand_files(const Config& config, const StateFiles& files);

// Whether a reboot empties this folder: below /run, /var/run, /dev/shm or /tmp.
bool is_volatile(const std::string& path);

// What tells one state of the files from the next.
struct HandMark {
  std::int64_t modified_ns = -1, bytes = -1;
  ino_t inode = 0;
  dev_t device = 0;
  friend bool operator==(const HandMark&, const HandMark&) = default;
};
HandMark mark_of(const HandFiles& files);

struct Kept {
  std::string path;  // "": there is no file, so nothing was set by hand
  HandText text;
};
// Times are in the wall clock of `now` (bring_up_to_date()).
// Errors: there is a file, but it cannot be read (a link and a pipe are none; more than 8 MB are too much).
base::Result<Kept> read_kept(const HandFiles& files, const HandClocks& now);
base::Result<Kept> read_kept(const HandFiles& files);
HandClocks hand_clocks();  // of the system

// `wall_ahead`: the wall clock less the monotonic one.
SetByHand set_by_hand_of(const HandText& text, const Config& config, Seconds wall_ahead);
// Names with an entry but without a host line, for messages.
std::vector<std::string> strangers(const HandText& text, const Config& config);

// Reads the files and sets the table's words by them, until both agree.
base::Result<Kept> apply_kept(const HandFiles& files, const Config& config, Table& table);

}  // namespace balance
