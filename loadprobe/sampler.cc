// SPDX-License-Identifier: MIT
// Floor 3.
#include "loadprobe/sampler.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "loadprobe/base/file.h"
#include "loadprobe/base/log.h"
#include "loadprobe/cgroup.h"
#include "loadprobe/process_tree.h"
#include "loadprobe/task_count.h"

namespace loadprobe {
namespace {

// Quotas change by hand, and there are up to two files a level to read.
constexpr base::Seconds kCoresHold{1};
// An average of one minute says something after a minute.
constexpr base::Seconds kAveragesNeed{60};
constexpr std::size_t kMostOrderBytes = 4096;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string first_existing(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    if (exists(path)) return path;
  }
  return "";
}

// How many CPUs this thread may run on.
std::optional<double> affinity() {
  constexpr std::size_t kMostCpus = 8192;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  cpu_set_t* const set = CPU_ALLOC(kMostCpus);
  std::optional<double> cpus;
  if (set && ::sched_getaffinity(0, bytes, set) == 0) cpus = CPU_COUNT_S(bytes, set);
  CPU_FREE(set);
  return cpus;
}

std::optional<double> quietly(const std::string& path, std::optional<double> (*parse)(std::string_view)) {
  const base::Result<std::string> text = base::read_file(path);
  return text ? parse(*text) : std::nullopt;
}

}  // namespace

Sampler::Sampler(Mounts mounts, Scope scope, std::string drain_file, std::vector<Queue> queues)
    : mounts_(std::move(mounts)),
      scope_(std::move(scope)),
      drain_file_(std::move(drain_file)),
      hierarchies_(find_hierarchies(mounts_.cgroup)),
      ticks_per_second_(static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)))),
      queues_(std::move(queues)) {}

Sampler::Hierarchies Sampler::find_hierarchies(const std::string& mount) {
  for (const std::string& unified : {mount, mount + "/unified"}) {
    const bool has_cpu =
        exists(unified + "/cgroup.controllers") && !exists(mount + "/cpu") && !exists(mount + "/cpu,cpuacct");
    if (has_cpu) return {Version::two, unified, unified, unified};
  }
  const Hierarchies one{Version::one, first_existing({mount + "/cpu", mount + "/cpu,cpuacct"}),
                        first_existing({mount + "/cpuacct", mount + "/cpu,cpuacct"}),
                        first_existing({mount + "/cpuset"})};
  return one.cpu.empty() ? Hierarchies{} : one;
}

Sample Sampler::take(base::Instant now) {
  Sample sample;
  sample.order = read_order();
  const KernelStat stat = told(mounts_.proc + "/stat", [this](std::string_view text) {
                            return std::optional(parse_kernel_stat(text, ticks_per_second_));
                          }).value_or(KernelStat{});
  sample.boot_time = stat.boot_time;
  if (now - cores_taken_ >= kCoresHold) {
    cores_ = cores();
    cores_taken_ = now;
  }
  sample.cores = cores_;
  sample.waiting = requests_waiting();
  switch (scope_.kind) {
    case Scope::Kind::host:
      // Whoever reads /proc/stat is running.
      if (stat.running) sample.running = std::max(0.0, *stat.running - 1);
      sample.cpus = stat.cpus;
      take_host(sample);
      break;
    case Scope::Kind::cgroup:
      take_group(sample, now);
      break;
    case Scope::Kind::tree:
      take_tree(sample, now);
      break;
  }
  return sample;
}

void Sampler::take_host(Sample& sample) {
  sample.load = told(mounts_.proc + "/loadavg", parse_load_averages);
  sample.pressure = told(mounts_.proc + "/pressure/cpu", parse_pressure);
}

void Sampler::take_group(Sample& sample, base::Instant now) {
  if (hierarchies_.version == Version::none) {
    warn(mounts_.cgroup, "no hierarchy of cpu groups is mounted here");
    return;
  }
  sample.running = running_in_group();
  if (sample.running) {
    sample.load = group_load(*sample.running, now);
  } else {
    warn(hierarchies_.cpu + scope_.group, "no tasks can be read of this group");
  }
  sample.group_cpu_seconds = seconds_of_group();
  sample.pressure = told(hierarchies_.cpu + scope_.group + "/cpu.pressure", parse_pressure);
}

void Sampler::take_tree(Sample& sample, base::Instant now) {
  const base::Result<int> root = read_pid_file(scope_.pid_file);
  if (!root) {
    warn(scope_.pid_file, root.error().what);
    return;
  }
  const std::optional<Tree> tree = read_tree(TreeFiles{mounts_.proc, ::gettid()}, *root);
  if (!tree) {
    warn(scope_.pid_file, "there is no process " + std::to_string(*root));
    return;
  }
  sample.running = tree->running;
  sample.load = group_load(tree->running, now);
  sample.group_cpu_seconds = tree_ticks_.after(tree->ticks) / ticks_per_second_;
}

std::optional<double> Sampler::requests_waiting() {
  const std::optional<double> waiting = queues_.waiting();
  for (const auto& [queue, cause] : queues_.causes()) warn(queue, cause);
  return waiting;
}

TaskFiles Sampler::files_of_group() const {
  return TaskFiles{hierarchies_.cpu + scope_.group, hierarchies_.version == Version::two ? "cgroup.threads" : "tasks",
                   mounts_.proc, ::gettid()};
}

std::optional<double> Sampler::running_in_group() const { return count_runnable(files_of_group()); }

std::optional<double> Sampler::map_processes() const {
  constexpr std::string_view kMapServer = "mapserv";
  switch (scope_.kind) {
    case Scope::Kind::host:
      return count_runnable_processes(mounts_.proc, kMapServer);
    case Scope::Kind::cgroup: {
      if (hierarchies_.version == Version::none) return std::nullopt;
      TaskFiles files = files_of_group();
      files.name = kMapServer;
      return count_runnable(files);
    }
    case Scope::Kind::tree:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> Sampler::seconds_of_group() {
  if (hierarchies_.version == Version::two) {
    return told(hierarchies_.cpu + scope_.group + "/cpu.stat", parse_usage_usec);
  }
  if (hierarchies_.cpuacct.empty()) {
    warn(mounts_.cgroup + "/cpuacct", "no such hierarchy is mounted");
    return std::nullopt;
  }
  return told(hierarchies_.cpuacct + scope_.group + "/cpuacct.usage", parse_usage_nanoseconds);
}

std::optional<double> Sampler::host_cores() const {
  const std::optional<double> cpus = affinity();
  if (!cpus || hierarchies_.version == Version::none) return cpus;
  const base::Result<std::string> own = base::read_file(mounts_.proc + "/self/cgroup");
  if (!own) return cpus;
  const std::string_view controller = hierarchies_.version == Version::two ? "" : "cpu";
  // In a container the path may be the host's, which is not mounted; the mount's own folder then has the quota.
  return std::min(*cpus, quota_upward(parse_own_group(*own, controller).value_or("")));
}

std::optional<double> Sampler::group_cores() const {
  if (hierarchies_.version == Version::none || !exists(hierarchies_.cpu + scope_.group)) return std::nullopt;
  const bool two = hierarchies_.version == Version::two;
  std::optional<double> cpus = quietly(
      hierarchies_.cpuset + scope_.group + (two ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus"), parse_cpu_list);
  if (!cpus) cpus = affinity();
  if (!cpus) return std::nullopt;
  return std::min(*cpus, quota_upward(scope_.group));
}

// A web server that was given fewer CPUs, or a quota, has no more than these.
std::optional<double> Sampler::tree_cores() const {
  const base::Result<int> root = read_pid_file(scope_.pid_file);
  if (!root) return std::nullopt;
  const std::string process = mounts_.proc + "/" + std::to_string(*root);
  const std::optional<double> cpus = quietly(process + "/status", parse_allowed_cpus);
  if (!cpus || hierarchies_.version == Version::none) return cpus;
  const base::Result<std::string> groups = base::read_file(process + "/cgroup");
  if (!groups) return cpus;
  const std::string_view controller = hierarchies_.version == Version::two ? "" : "cpu";
  return std::min(*cpus, quota_upward(parse_own_group(*groups, controller).value_or("")));
}

std::optional<double> Sampler::cores() const {
  switch (scope_.kind) {
    case Scope::Kind::host:
      return host_cores();
    case Scope::Kind::cgroup:
      return group_cores();
    case Scope::Kind::tree:
      return tree_cores();
  }
  return std::nullopt;
}

double Sampler::quota_upward(std::string_view group) const {
  double least = kUnlimitedCores;
  for (const std::string& above : groups_upward(group)) {
    const std::string folder = hierarchies_.cpu + above;
    std::optional<double> quota;
    if (hierarchies_.version == Version::two) {
      quota = quietly(folder + "/cpu.max", parse_cpu_max);
    } else {
      const base::Result<std::string> quota_us = base::read_file(folder + "/cpu.cfs_quota_us");
      const base::Result<std::string> period_us = base::read_file(folder + "/cpu.cfs_period_us");
      if (quota_us && period_us) quota = parse_cfs_quota(*quota_us, *period_us);
    }
    least = std::min(least, quota.value_or(kUnlimitedCores));  // the topmost group has no quota
  }
  return least;
}

std::optional<LoadAverages> Sampler::group_load(double running, base::Instant now) {
  if (group_load_taken_ == base::kNever) {
    group_load_ = {running, running, running};
    group_watched_since_ = now;
  } else {
    group_load_ = damped(group_load_, running, now - group_load_taken_);
  }
  group_load_taken_ = now;
  if (now - group_watched_since_ < kAveragesNeed) return std::nullopt;
  return group_load_;
}

Order Sampler::read_order() {
  base::Result<std::string> text = base::read_file(drain_file_, kMostOrderBytes);
  if (text) return parse_order(*std::move(text));
  if (exists(drain_file_)) return {Duty::draining, "the drain file cannot be read"};
  if (errno != ENOENT && errno != ENOTDIR) warn(drain_file_, text.error().what);
  return {};
}

template <class Parse>
auto Sampler::told(const std::string& path, Parse parse) -> decltype(parse(std::string_view{})) {
  const base::Result<std::string> text = base::read_file(path);
  if (!text) {
    warn(path, text.error().what);
    return std::nullopt;
  }
  auto value = parse(*text);
  if (!value) warn(path, "it has not the expected form");
  return value;
}

void Sampler::warn(const std::string& path, const std::string& cause) {
  if (!warned_.insert(path).second) return;
  base::log(base::Level::warning, "a measure is missing", {{"file", path}, {"cause", cause}});
}

}  // namespace loadprobe
