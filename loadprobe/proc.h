// SPDX-License-Identifier: MIT
// What the files below /proc say. Reading them is the sampler's business.
// Floor 1: pure functions over text, any thread. What a text does not say, or says wrongly, is missing: never zero.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "loadprobe/base/time.h"

namespace loadprobe {

struct LoadAverages {
  double one = 0, five = 0, fifteen = 0;  // tasks
};

// /proc/loadavg.
std::optional<LoadAverages> parse_load_averages(std::string_view text);

// The averages after `elapsed` with `tasks` runnable: the kernel's rule, for groups, of which it keeps no averages.
LoadAverages damped(const LoadAverages& before, double tasks, base::Seconds elapsed);

// How a CPU spends its time, in the order of /proc/stat; time of guests is in user and nice.
inline constexpr std::array<std::string_view, 8> kCpuModes{"user",   "nice", "system",  "idle",
                                                           "iowait", "irq",  "softirq", "steal"};

struct CpuTimes {
  std::uint64_t cpu = 0;
  std::vector<double> seconds;  // as many of kCpuModes as the kernel tells
};

struct KernelStat {
  std::vector<CpuTimes> cpus;       // the ones online
  std::optional<double> running;    // runnable tasks now, the reader's own thread among them
  std::optional<double> boot_time;  // s since 1970
};

// /proc/stat. REQUIRES: ticks_per_second > 0.
KernelStat parse_kernel_stat(std::string_view text, double ticks_per_second);

// /proc/pressure/cpu or a group's cpu.pressure: seconds that some task waited for a CPU.
std::optional<double> parse_pressure(std::string_view text);

// /proc/PID/stat: what a tree of processes is counted by. Ticks of a thread group and of its children that have gone.
struct ProcessStat {
  char state = '?';  // of the first thread
  std::uint64_t threads = 1;
  double own_ticks = 0;       // user and system time of its threads, also of those that have ended
  double children_ticks = 0;  // of children that have ended and were waited for, with theirs
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// /proc/PID/status: how many CPUs the process may run on.
std::optional<double> parse_allowed_cpus(std::string_view text);

// /proc/PID/task/TID/stat: the state's letter. The name before it may hold any byte, ')' and line ends too.
std::optional<char> parse_task_state(std::string_view text);
// That name, at most 15 bytes; "" if there is none.
std::string_view task_name(std::string_view text);

}  // namespace loadprobe
