// SPDX-License-Identifier: MIT
// Counts runnable tasks: those of a control group and of the groups below it, or one by one.
// Floor 3. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadprobe {

struct TaskFiles {
  std::string group;      // the group's folder
  std::string ids;        // the file in it that lists thread ids: 'tasks' or 'cgroup.threads'
  std::string proc;       // where proc is mounted
  int passed_over = 0;    // a thread id that does not count: the caller's own
  std::string name = {};  // only those count whose name begins so
};

// Threads in state R (runnable, throttled ones too) or D (waiting for a disk); nothing if the group cannot be read.
// Threads that end meanwhile do not count.
std::optional<double> count_runnable(const TaskFiles& files);

// The same over all processes, first threads alone, whose name begins so.
std::optional<double> count_runnable_processes(const std::string& proc, std::string_view name);

// State R or D.
bool is_runnable(char state);
// Of a thread of the process whose folder in proc this is; false once it has ended.
bool is_runnable(const std::string& process, int thread, std::string_view name = {});
// The threads of the process whose folder in proc this is.
std::vector<int> thread_ids(const std::string& process);

}  // namespace loadprobe
