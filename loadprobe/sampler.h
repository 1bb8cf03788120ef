// SPDX-License-Identifier: MIT
// Takes samples: reads the files that tell the load of this host, or of a control group or a tree of processes on it.
// Floor 3. One thread; its own thread is not counted.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/time.h"
#include "loadprobe/growing_sum.h"
#include "loadprobe/listen_queues.h"
#include "loadprobe/probe_config.h"
#include "loadprobe/sample.h"
#include "loadprobe/task_count.h"

namespace loadprobe {

// Where the kernel's files are; tests point them at folders of their own.
struct Mounts {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

class Sampler {
 public:
  Sampler(Mounts mounts, Scope scope, std::string drain_file, std::vector<Queue> queues = {});

  // What cannot be read is missing from the sample, and is logged the first time.
  // REQUIRES: `now` does not go back.
  Sample take(base::Instant now);

  // How many map processes can run now: of the whole machine, or of the group. Nothing for a tree, all of which is the
  // web server's. Looks at every process, so it is done only for whoever wants to know.
  std::optional<double> map_processes() const;

 private:
  enum class Version { none, one, two };
  struct Hierarchies {  // "" where there is none
    Version version = Version::none;
    std::string cpu, cpuacct, cpuset;
  };
  static Hierarchies find_hierarchies(const std::string& mount);

  void take_host(Sample& sample);
  void take_group(Sample& sample, base::Instant now);
  void take_tree(Sample& sample, base::Instant now);
  std::optional<double> requests_waiting();
  Order read_order();

  TaskFiles files_of_group() const;
  std::optional<double> running_in_group() const;
  std::optional<double> seconds_of_group();
  std::optional<double> host_cores() const;
  std::optional<double> group_cores() const;
  std::optional<double> tree_cores() const;
  std::optional<double> cores() const;
  double quota_upward(std::string_view group) const;
  std::optional<LoadAverages> group_load(double running, base::Instant now);

  // The file's meaning; a warning, once a file, if it cannot be read or says nothing.
  template <class Parse>
  auto told(const std::string& path, Parse parse) -> decltype(parse(std::string_view{}));
  void warn(const std::string& path, const std::string& cause);

  Mounts mounts_;
  Scope scope_;
  std::string drain_file_;
  Hierarchies hierarchies_;
  double ticks_per_second_;
  std::set<std::string> warned_;

  std::optional<double> cores_;
  base::Instant cores_taken_ = base::kNever;
  LoadAverages group_load_;
  base::Instant group_watched_since_ = base::kNever;
  base::Instant group_load_taken_ = base::kNever;
  ListenQueues queues_;
  GrowingSum tree_ticks_;
};

}  // namespace loadprobe
