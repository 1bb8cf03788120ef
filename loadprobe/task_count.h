// SPDX-License-Identifier: MIT
// Counts the runnable tasks of a control group and of the groups below it.
// Floor 3. Any thread.
#pragma once

#include <optional>
#include <string>

namespace loadprobe {

struct TaskFiles {
  std::string group;    // the group's folder
  std::string ids;      // the file in it that lists thread ids: 'tasks' or 'cgroup.threads'
  std::string proc;     // where proc is mounted
  int passed_over = 0;  // a thread id that does not count: the caller's own
};

// Threads in state R (runnable, throttled ones too) or D (waiting for a disk); nothing if the group cannot be read.
// Threads that end meanwhile do not count.
std::optional<double> count_runnable(const TaskFiles& files);

}  // namespace loadprobe
