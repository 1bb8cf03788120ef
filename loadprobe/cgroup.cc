// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text, any thread.
#include "loadprobe/cgroup.h"

#include <algorithm>

#include "loadprobe/base/text.h"

namespace loadprobe {
namespace {

std::optional<double> quotient(std::optional<double> quota, std::optional<double> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view cpu_max) {
  const std::vector<std::string_view> words = base::words(base::trim(cpu_max));
  if (words.size() != 2) return std::nullopt;
  if (words[0] == "max") return kUnlimitedCores;
  return quotient(base::number(words[0]), base::number(words[1]));
}

std::optional<double> parse_cfs_quota(std::string_view quota_us, std::string_view period_us) {
  const std::optional<double> quota = base::number(base::trim(quota_us));
  if (quota == -1.0) return kUnlimitedCores;
  return quotient(quota, base::number(base::trim(period_us)));
}

std::optional<double> parse_usage_usec(std::string_view cpu_stat) {
  for (const std::string_view line : base::split(cpu_stat, '\n')) {
    const std::vector<std::string_view> words = base::words(line);
    if (words.size() != 2 || words[0] != "usage_usec") continue;
    const std::optional<std::uint64_t> microseconds = base::whole_number(words[1]);
    if (microseconds) return static_cast<double>(*microseconds) / 1e6;
  }
  return std::nullopt;
}

std::optional<double> parse_usage_nanoseconds(std::string_view cpuacct_usage) {
  const std::optional<std::uint64_t> nanoseconds = base::whole_number(base::trim(cpuacct_usage));
  if (!nanoseconds) return std::nullopt;
  return static_cast<double>(*nanoseconds) / 1e9;
}

std::optional<double> parse_cpu_list(std::string_view list) {
  constexpr std::uint64_t kMostCpus = 65536;
  std::uint64_t count = 0;
  for (const std::string_view range : base::split(base::trim(list), ',')) {
    const std::size_t dash = range.find('-');
    const std::optional<std::uint64_t> first = base::whole_number(range.substr(0, dash));
    const std::optional<std::uint64_t> last =
        dash == std::string_view::npos ? first : base::whole_number(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMostCpus) return std::nullopt;
    count += *last - *first + 1;
  }
  return static_cast<double>(count);
}

std::vector<int> parse_task_ids(std::string_view text) {
  constexpr std::uint64_t kMostTaskId = 1U << 22;  // the kernel's PID_MAX_LIMIT
  std::vector<int> ids;
  for (const std::string_view line : base::split(text, '\n')) {
    const std::optional<std::uint64_t> id = base::whole_number(line);
    if (id && *id > 0 && *id <= kMostTaskId) ids.push_back(static_cast<int>(*id));
  }
  return ids;
}

std::optional<std::string> parse_own_group(std::string_view text, std::string_view controller) {
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::vector<std::string_view> controllers = base::split(line.substr(first + 1, second - first - 1), ',');
    if (std::ranges::find(controllers, controller) != controllers.end()) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

std::vector<std::string> groups_upward(std::string_view path) {
  std::vector<std::string> groups;
  while (path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty()) {
    groups.emplace_back(path);
    path = path.substr(0, path.rfind('/'));
  }
  groups.emplace_back();
  return groups;
}

}  // namespace loadprobe
