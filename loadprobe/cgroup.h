// SPDX-License-Identifier: MIT
// What the files of control groups say, of version 1 (cpu, cpuacct, cpuset) and version 2.
// Floor 1: pure functions over text, any thread. What a text does not say, or says wrongly, is missing: never zero.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadprobe {

inline constexpr double kUnlimitedCores = std::numeric_limits<double>::infinity();

// Cores that a quota allows: version 2's cpu.max ('max 100000', '150000 100000'), version 1's cpu.cfs_quota_us (-1 is
// no quota) and cpu.cfs_period_us. kUnlimitedCores without a quota.
std::optional<double> parse_cpu_max(std::string_view cpu_max);
std::optional<double> parse_cfs_quota(std::string_view quota_us, std::string_view period_us);

// CPU seconds used: version 2's cpu.stat, version 1's cpuacct.usage.
std::optional<double> parse_usage_usec(std::string_view cpu_stat);
std::optional<double> parse_usage_nanoseconds(std::string_view cpuacct_usage);

// How many CPUs a list names: '0-3,7' are 5.
std::optional<double> parse_cpu_list(std::string_view list);

// Process or thread ids, one a line; 0 (a task of another namespace) and anything else but an id is passed over.
std::vector<int> parse_task_ids(std::string_view text);

// The group of a /proc/PID/cgroup in the hierarchy of that controller; "" names version 2's.
std::optional<std::string> parse_own_group(std::string_view text, std::string_view controller);

// '/a/b' gives '/a/b', '/a', '' : the group and all above it, as suffixes to a mount's path.
std::vector<std::string> groups_upward(std::string_view path);

}  // namespace loadprobe
