// SPDX-License-Identifier: MIT
// A sample: the load of this host, or of a group on it, at one moment; and the page that tells it.
// Floor 1: a value and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/order.h"
#include "loadprobe/proc.h"

namespace loadprobe {

// What could not be read is missing, and gets no line.
struct Sample {
  std::optional<LoadAverages> load;
  std::optional<double> running;            // runnable tasks, loadprobe's own thread not counted
  std::optional<double> waiting;            // requests in listen queues
  std::optional<double> cores;              // usable ones, may be fractional
  std::vector<CpuTimes> cpus;               // of the whole machine
  std::optional<double> group_cpu_seconds;  // of a group or tree, all its CPUs and modes together
  std::optional<double> pressure;           // s
  std::optional<double> boot_time;          // s since 1970
  Order order;
};

// Who tells it.
struct Teller {
  double start_time = 0;  // s since 1970
  std::string_view version;
};

// The page but for the dispatches, which change between samples.
std::string page_of(const Sample& sample, const Teller& teller);
std::string page_of_dispatches(std::uint64_t total);
// "" where they cannot be counted.
std::string page_of_map_processes(const std::optional<double>& at_work);

}  // namespace loadprobe
