// SPDX-License-Identifier: MIT
// Reads a process and its descendants: how many of their threads can run, and the CPU time that they used.
// Floor 3. Any thread.
#pragma once

#include <optional>
#include <string>

#include "loadprobe/base/result.h"

namespace loadprobe {

struct TreeFiles {
  std::string proc;     // where proc is mounted
  int passed_over = 0;  // a thread id that does not count: the caller's own
};

struct Tree {
  double running = 0;  // threads in state R (runnable, throttled ones too) or D (waiting for a disk)
  double ticks = 0;  // of CPU, of all in the tree and of those that ended and were waited for; may fall, see GrowingSum
};

// The first line of a PID file. An error names the file and what was found.
base::Result<int> read_pid_file(const std::string& path);

// Nothing if there is no such process. Processes that end meanwhile do not count, nor does one that its parent left
// behind: it is a child of init then.
std::optional<Tree> read_tree(const TreeFiles& files, int root);

}  // namespace loadprobe
