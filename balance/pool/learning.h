// SPDX-License-Identifier: MIT
// What reports teach about the pool: each host's mean service time and background, our share of all dispatches. One
// code for three levels of knowledge, told by what a report holds:
//   1 requests, completed and CPU seconds of map requests, running tasks   (a host that counts its requests)
//   2 running tasks, CPU seconds of everything                             (loadprobe, node_exporter)
//   3 load1 alone                                                          (rstatd)
// Dispatches, where a report has them, teach our share; elsewhere it is 1/peers.
// Floor 2: values and functions of their arguments. poolwatch owns the memories; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "balance/pool/standing.h"

namespace balance {

struct HostMemory {
  double busy_seconds = 0, completed = 0;  // B, N: memory 120 s
  std::optional<double> last_cpu_seconds, last_completed, last_load1;
  std::optional<double> run_queue;  // what load1 told of it last
  std::optional<std::uint64_t> last_arrived;
  std::uint64_t last_own = 0;
  double background = 0;
  bool background_known = false;
  Instant reported = base::kNever;
  Instant requested = base::kNever;  // the last report that told of a request sent there, by anyone
  // Least running tasks in this window of 60 s and in the one before, for the floor of a batch job.
  Instant window_began = base::kNever;
  std::optional<double> least_now, least_before;
  std::optional<double> floor;  // per core
};

// All that is learned. `hosts` is as long as the configuration's.
struct PoolMemory {
  std::vector<HostMemory> hosts;
  double busy_seconds = 0, completed = 0;  // memory 60 s
  double own = 0, arrived = 0;             // dispatches, memory 20 s
  Instant faded = base::kNever;
  double share = 1;         // phi: 1/64 to 1
  double median_floor = 0;  // over the hosts; looked up once a second
  Instant median_at = base::kNever;

  // M: 0.2 s are believed with the weight of 20 requests.
  double mean_service_seconds() const { return std::clamp((busy_seconds + 0.2 * 20) / (completed + 20), 1e-6, 1e6); }
};
PoolMemory empty_memory(std::size_t hosts, unsigned peers);

// What besides the report itself tells what it means.
struct Hearing {
  std::size_t host = 0;              // index
  double cores = 1;                  // of the host, as the policy counts them (cores_of)
  std::uint64_t own_dispatches = 0;  // to this host, ever (Table::dispatches)
  double unseen = 0;                 // of these, those too young for the report to show
  double predicted = 0;              // the table's prediction, drained to now
  // Where every request is relayed: those in flight, of all balancers (own ones / phi).
  std::optional<double> relayed = {};
  bool back = false;  // Belief::back: forget counters and differences
  Seconds interval{0.25};
};

struct Learned {
  double mean_service_seconds = 0.2;  // m
  double background = 0;              // b
  std::optional<double> requests;     // q: what the table's prediction becomes, if this report tells it
};

// Takes a report in: changes the memories, and tells what the host's standing and prediction become. M and phi are
// then memory.mean_service_seconds() and memory.share. A negative difference of a counter counts as 0.
Learned learn(PoolMemory& memory, const Report& report, const Hearing& hearing, Instant now);

}  // namespace balance
