// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text, any thread.
#include "loadprobe/proc.h"

#include <algorithm>
#include <cmath>

#include "loadprobe/base/text.h"
#include "loadprobe/cgroup.h"

namespace loadprobe {
namespace {

std::optional<double> not_negative(std::string_view text) {
  const std::optional<double> value = base::number(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<CpuTimes> parse_cpu(const std::vector<std::string_view>& words, double ticks_per_second) {
  const std::optional<std::uint64_t> cpu = base::whole_number(words.front().substr(3));
  if (!cpu) return std::nullopt;
  CpuTimes times{*cpu, {}};
  for (std::size_t i = 1; i < words.size() && i <= kCpuModes.size(); ++i) {
    const std::optional<double> ticks = not_negative(words[i]);
    if (!ticks) return std::nullopt;
    times.seconds.push_back(*ticks / ticks_per_second);
  }
  return times;
}

double toward(double average, double tasks, double periods) {
  const double kept = std::exp(-periods);
  return average * kept + tasks * (1 - kept);
}

}  // namespace

std::optional<LoadAverages> parse_load_averages(std::string_view text) {
  const std::vector<std::string_view> words = base::words(base::trim(text));
  if (words.size() < 3) return std::nullopt;
  const auto one = not_negative(words[0]), five = not_negative(words[1]), fifteen = not_negative(words[2]);
  if (!one || !five || !fifteen) return std::nullopt;
  return LoadAverages{*one, *five, *fifteen};
}

LoadAverages damped(const LoadAverages& before, double tasks, base::Seconds elapsed) {
  const double minutes = elapsed.count() / 60;
  return {toward(before.one, tasks, minutes), toward(before.five, tasks, minutes / 5),
          toward(before.fifteen, tasks, minutes / 15)};
}

KernelStat parse_kernel_stat(std::string_view text, double ticks_per_second) {
  KernelStat stat;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // The line of interrupts is long and of no use here.
    if (!line.starts_with("cpu") && !line.starts_with("procs_running ") && !line.starts_with("btime ")) continue;
    const std::vector<std::string_view> words = base::words(line);
    if (words.size() < 2) continue;
    if (line.starts_with("procs_running ")) {
      stat.running = not_negative(words[1]);
    } else if (line.starts_with("btime ")) {
      stat.boot_time = not_negative(words[1]);
    } else if (std::optional<CpuTimes> times = parse_cpu(words, ticks_per_second)) {
      stat.cpus.push_back(*std::move(times));
    }
  }
  return stat;
}

std::optional<double> parse_pressure(std::string_view text) {
  constexpr std::string_view kTotal = "total=";
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with("some ")) continue;
    for (const std::string_view word : base::words(line)) {
      if (!word.starts_with(kTotal)) continue;
      const std::optional<std::uint64_t> microseconds = base::whole_number(word.substr(kTotal.size()));
      if (microseconds) return static_cast<double>(*microseconds) / 1e6;
    }
  }
  return std::nullopt;
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // Counted from the state, which follows the name: proc(5) calls it field 3.
  constexpr std::size_t kUser = 14 - 3, kSystem = 15 - 3, kChildrenUser = 16 - 3, kChildrenSystem = 17 - 3,
                        kThreads = 20 - 3;
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = base::words(base::trim(text.substr(end_of_name + 1)));
  if (words.size() <= kThreads || words[0].size() != 1) return std::nullopt;
  const std::optional<double> user = not_negative(words[kUser]), system = not_negative(words[kSystem]),
                              children_user = not_negative(words[kChildrenUser]),
                              children_system = not_negative(words[kChildrenSystem]);
  const std::optional<std::uint64_t> threads = base::whole_number(words[kThreads]);
  if (!user || !system || !children_user || !children_system || !threads) return std::nullopt;
  return ProcessStat{words[0].front(), *threads, *user + *system, *children_user + *children_system};
}

std::optional<double> parse_allowed_cpus(std::string_view text) {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.starts_with(kKey)) return parse_cpu_list(line.substr(kKey.size()));
  }
  return std::nullopt;
}

std::optional<char> parse_task_state(std::string_view text) {
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string_view::npos || end_of_name + 2 >= text.size()) return std::nullopt;
  return text[end_of_name + 2];
}

std::string_view task_name(std::string_view text) {
  const std::size_t begin = text.find('('), end = text.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return text.substr(begin + 1, end - begin - 1);
}

}  // namespace loadprobe
