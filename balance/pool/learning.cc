// SPDX-License-Identifier: MIT
// What reports teach. Floor 2.
#include "balance/pool/learning.h"

#include <algorithm>
#include <cmath>

namespace balance {
namespace {

constexpr double kHostMemory = 120, kPoolMemory = 60, kShareMemory = 20;  // s
constexpr double kMostCompleted = 2000;
constexpr double kPrior = 200;  // requests that a host is believed to be like the pool
constexpr double kLeastArrived = 20, kAlmostAll = 0.9, kLeastShare = 1.0 / 64;
constexpr double kBackgroundStep = 0.3;
// CPU seconds later than this after a host's last request are not a request's: those of its start, or of a cron job,
// would make an idle host look slow, and then nothing would ever be sent there that shows otherwise.
constexpr Seconds kLinger{5};
// Batch jobs, seen from a host that does not count its requests.
constexpr Seconds kFloorInterval{0.5};  // with rarer reports the least of a window says too little
constexpr Seconds kWindow{60};
constexpr double kFloorExcess = 0.25;
// Load averages.
constexpr double kTick = 5, kMinute = 60;  // s
constexpr double kGlance = 0.2;

double rise(double now, const std::optional<double>& before) { return before && now > *before ? now - *before : 0; }

// The kernel's one-minute average moves every 5 s: what the run queue must have been when it last did, or on average
// when it did so several times since the report before.
std::optional<double> run_queue(double load1, const std::optional<double>& before, double elapsed) {
  if (!before || load1 == *before) return std::nullopt;
  const double decay = std::exp(-kTick * std::max(1.0, std::round(elapsed / kTick)) / kMinute);
  return std::max(0.0, (load1 - *before * decay) / (1 - decay));
}

void note_floor(HostMemory& host, double running, double cores, Instant now) {
  if (now - host.window_began >= kWindow) {
    host.least_before = now - host.window_began < 2 * kWindow ? host.least_now : std::nullopt;
    host.least_now.reset();
    host.window_began = now;
  }
  host.least_now = host.least_now ? std::min(*host.least_now, running) : running;
  host.floor.reset();
  if (host.least_before) host.floor = std::min(*host.least_now, *host.least_before) / cores;
}

double lower_median_floor(const std::vector<HostMemory>& hosts) {
  std::vector<double> floors;
  for (const HostMemory& host : hosts) {
    if (host.floor) floors.push_back(*host.floor);
  }
  if (floors.empty()) return 0;
  const auto middle = floors.begin() + static_cast<std::ptrdiff_t>((floors.size() - 1) / 2);
  std::nth_element(floors.begin(), middle, floors.end());
  return *middle;
}

// Whether something that is no map request keeps cores of this host busy all the time.
bool has_batch_job(PoolMemory& memory, HostMemory& host, const Report& report, const Hearing& hearing, Instant now) {
  if (report.completed || !report.running || hearing.interval > kFloorInterval) return false;
  note_floor(host, *report.running, hearing.cores, now);
  if (now - memory.median_at >= Seconds{1}) {
    memory.median_floor = lower_median_floor(memory.hosts);
    memory.median_at = now;
  }
  return host.floor && *host.floor > memory.median_floor + kFloorExcess;
}

void learn_share(PoolMemory& memory, double own, double arrived) {
  memory.own += own;
  memory.arrived += arrived;
  if (memory.arrived < kLeastArrived) {
    memory.share = 1;
    return;
  }
  const double share = std::clamp(memory.own / memory.arrived, kLeastShare, 1.0);
  memory.share = share > kAlmostAll ? 1 : share;
}

// A host that reports nonsense, once, must not spoil what is believed of all: such a step teaches nothing.
bool is_absurd(double busy, double completed, const Hearing& hearing, double elapsed) {
  const double core_seconds = hearing.cores * (elapsed + 1);
  return busy > 100 * core_seconds || completed > 100'000 * core_seconds;
}

void learn_speed(PoolMemory& memory, HostMemory& host, double busy, double completed) {
  host.busy_seconds += busy;
  host.completed += completed;
  if (host.completed > kMostCompleted) {
    host.busy_seconds *= kMostCompleted / host.completed;
    host.completed = kMostCompleted;
  }
  memory.busy_seconds += busy;
  memory.completed += completed;
}

// A guess where CPU seconds are not told. The prediction is smooth but follows from the very speed that is learned
// here: left alone it would confirm whatever it believes (simulated: a pool half of slow cores, p99 a fifth worse). The
// run queue found is true but a single glance, and holds batch jobs too: more than a fifth of it makes such a host look
// slow.
double busy_cores(const HostMemory& host, const Hearing& hearing) {
  const double predicted = std::min(hearing.predicted, hearing.cores);
  if (!host.run_queue) return predicted;
  return (1 - kGlance) * predicted + kGlance * std::min(*host.run_queue, hearing.cores);
}

// What happened between the last report and this one.
void learn_differences(PoolMemory& memory, HostMemory& host, const Report& report, const Hearing& hearing,
                       Instant now) {
  const double elapsed = (now - host.reported).count();
  const double own =
      hearing.own_dispatches > host.last_own ? static_cast<double>(hearing.own_dispatches - host.last_own) : 0;
  const double memory_left = std::exp(-elapsed / kHostMemory);
  host.busy_seconds *= memory_left;
  host.completed *= memory_left;

  const bool batch = has_batch_job(memory, host, report, hearing, now);
  const double busy =
      report.cpu_seconds ? rise(*report.cpu_seconds, host.last_cpu_seconds) : elapsed * busy_cores(host, hearing);
  const double completed = report.completed ? rise(*report.completed, host.last_completed) : own / memory.share;
  const double arrived = report.dispatches && host.last_arrived && *report.dispatches > *host.last_arrived
                             ? static_cast<double>(*report.dispatches - *host.last_arrived)
                             : 0;
  if (own > 0 || arrived > 0) host.requested = now;
  const bool is_idle = !report.completed && now - host.requested > kLinger;
  const bool counted_anew =
      (report.cpu_seconds && !host.last_cpu_seconds) || (report.completed && !host.last_completed);
  if (batch) {
    host.busy_seconds = host.completed = 0;  // part of it was the job's before that was known
  } else if (!counted_anew && !is_idle && !is_absurd(busy, completed, hearing, elapsed)) {
    learn_speed(memory, host, busy, completed);
  }
  if (report.dispatches && host.last_arrived) learn_share(memory, own, arrived);
}

std::optional<double> requests_in(const Report& report, HostMemory& host, Instant now) {
  if (report.requests) return report.requests;
  if (report.running) return *report.running + report.waiting.value_or(0);
  if (!report.load1) return std::nullopt;
  const std::optional<double> found = run_queue(*report.load1, host.last_load1, (now - host.reported).count());
  if (found) host.run_queue = found;
  return found;
}

// Runnable tasks that are no map requests. Of a host that does not count its requests they can be told apart only where
// all of these are relayed.
void note_background(HostMemory& host, const Report& report, const std::optional<double>& relayed) {
  if (!report.running || (!report.requests && !relayed)) {
    host.background = 0;
    return;
  }
  const double found = report.requests ? *report.running - *report.requests : std::max(0.0, *report.running - *relayed);
  host.background += (host.background_known ? kBackgroundStep : 1) * (found - host.background);
  host.background_known = true;
}

void forget_counters(HostMemory& host) {
  const double busy = host.busy_seconds, completed = host.completed;
  host = HostMemory{};
  host.busy_seconds = busy;
  host.completed = completed;
}

// The pool's sums fade by the time since any host's last report.
void fade(PoolMemory& memory, Instant now) {
  const double elapsed = memory.faded == base::kNever ? 0 : std::max(0.0, (now - memory.faded).count());
  memory.faded = now;
  memory.busy_seconds *= std::exp(-elapsed / kPoolMemory);
  memory.completed *= std::exp(-elapsed / kPoolMemory);
  memory.own *= std::exp(-elapsed / kShareMemory);
  memory.arrived *= std::exp(-elapsed / kShareMemory);
}

}  // namespace

PoolMemory empty_memory(std::size_t hosts, unsigned peers) {
  PoolMemory memory;
  memory.hosts.resize(hosts);
  memory.share = std::max(kLeastShare, 1.0 / std::max(peers, 1U));
  return memory;
}

Learned learn(PoolMemory& memory, const Report& report, const Hearing& hearing, Instant now) {
  HostMemory& host = memory.hosts.at(hearing.host);
  fade(memory, now);
  if (hearing.back) forget_counters(host);
  if (host.reported != base::kNever) learn_differences(memory, host, report, hearing, now);

  Learned learned;
  learned.requests = requests_in(report, host, now);
  // What is on its way to the host, it cannot have reported; a recovered run queue is older than any of that.
  if (learned.requests && (report.requests || report.running)) *learned.requests += hearing.unseen / memory.share;
  note_background(host, report, hearing.relayed);
  learned.background = std::max(0.0, host.background);
  const double pool_mean = memory.mean_service_seconds();
  learned.mean_service_seconds = (host.busy_seconds + kPrior * pool_mean) / (host.completed + kPrior);

  host.last_cpu_seconds = report.cpu_seconds;
  host.last_completed = report.completed;
  host.last_load1 = report.load1;
  host.last_arrived = report.dispatches;
  host.last_own = hearing.own_dispatches;
  host.reported = now;
  return learned;
}

}  // namespace balance
