// SPDX-License-Identifier: MIT
// The whole rule in motion, on a small model of a pool: requests come at random (Poisson), need a lognormal CPU time
// (mean 150 ms, sigma 1) and share the cores of their host evenly; reports come every T. Everything is drawn from fixed
// seeds before any rule sees it, so all rules get the same requests and a run is always the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

#include "balance/pool/belief.h"
#include "balance/pool/gather.h"
#include "balance/pool/learning.h"
#include "balance/pool/policy.h"

namespace balance {
namespace {

constexpr double kMeanService = 0.15;

struct Arrival {
  double time = 0, work = 0;  // s, CPU seconds
};

double normal(Draw& draw) {
  const double a = 1 - draw.fraction(), b = draw.fraction();
  return std::sqrt(-2 * std::log(a)) * std::cos(2 * 3.14159265358979324 * b);
}

std::vector<Arrival> arrivals(double rate, double end, std::uint64_t seed) {
  Draw draw{seed};
  std::vector<Arrival> all;
  for (double time = 0;;) {
    time -= std::log(1 - draw.fraction()) / rate;
    if (time > end) return all;
    all.push_back({time, kMeanService * std::exp(normal(draw) - 0.5)});
  }
}

// A host on which n requests and its batch threads share the cores evenly. Progress is counted for each request alike,
// so a request ends when that has risen by its work.
class Machine {
 public:
  double cores = 4, batch = 0;
  bool dead = false;

  void advance(double now, std::vector<double>& responses) {
    while (!ends_.empty()) {
      const double speed = std::min(1.0, cores / tasks());
      const double end = now_ + (ends_.top().progress - progress_) / speed;
      if (end > now) break;
      progress_ = ends_.top().progress;
      work_ += (end - now_) * std::min(cores, tasks());
      now_ = end;
      responses.push_back(end - ends_.top().began);
      ends_.pop();
    }
    progress_ += (now - now_) * std::min(1.0, cores / std::max(tasks(), 1.0));
    work_ += (now - now_) * std::min(cores, tasks());
    now_ = now;
  }
  void add(const Arrival& arrival) { ends_.push({progress_ + arrival.work, arrival.time}); }
  double tasks() const { return static_cast<double>(ends_.size()) + batch; }
  double cpu_seconds() const { return work_; }

 private:
  struct End {
    double progress = 0, began = 0;
    bool operator>(const End& other) const { return progress > other.progress; }
  };
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  double now_ = 0, progress_ = 0, work_ = 0;
};

// How a host is chosen, and what reports do to that.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual std::size_t choose(Instant now) = 0;
  virtual void hear(std::size_t host, const Report& report, Instant now) = 0;
};

class RoundRobin : public Rule {
 public:
  explicit RoundRobin(std::size_t hosts) : hosts_(hosts) {}
  std::size_t choose(Instant) override { return next_++ % hosts_; }
  void hear(std::size_t, const Report&, Instant) override {}

 private:
  std::size_t hosts_, next_ = 0;
};

// The least load of the last reports, the first of equals.
class LeastReported : public Rule {
 public:
  explicit LeastReported(std::size_t hosts) : running_(hosts) {}
  std::size_t choose(Instant) override {
    return static_cast<std::size_t>(std::min_element(running_.begin(), running_.end()) - running_.begin());
  }
  void hear(std::size_t host, const Report& report, Instant) override { running_[host] = *report.running; }

 private:
  std::vector<double> running_;
};

// The product's rule with what poolwatch and the table do around it.
class Predict : public Rule {
 public:
  Predict(Config config, double interval) : config_(std::move(config)), memory_(empty_memory(config_.hosts.size(), 1)) {
    config_.probe.interval = Seconds{interval};
    config_.probe.expire = Seconds{std::max(3 * interval, 2.0)};
    const std::size_t hosts = config_.hosts.size();
    beliefs_.resize(hosts);
    live_.resize(hosts);
    dispatches_.resize(hosts);
    pool_.started = Instant{};
  }

  std::size_t choose(Instant now) override {
    pool_.beat = now;
    Snapshot snapshot = empty_snapshot(config_, pool_, virtual_time_, now);
    snapshot.candidates = gather({config_.hosts.size(), pool_.greatest_capacity, {}}, draw_,
                                 [&](std::size_t i) { return std::optional(read(i, now)); });
    const Choice choice = predict(snapshot);
    const std::size_t host = choice.hosts.at(0);
    const Candidate& chosen = candidate_of(snapshot, host);
    if (choice.took_turn) {
      const Turn turn = turn_taken(chosen, virtual_time_);
      live_[host].turn = turn.host;
      virtual_time_ = turn.pool;
    }
    live_[host].prediction = with_dispatch(live_[host].prediction, chosen, snapshot);
    ++dispatches_[host];
    return host;
  }

  void hear(std::size_t host, const Report& report, Instant now) override {
    Belief& belief = beliefs_[host];
    belief = with_report(belief, report, limits_of(config_.hosts[host], config_.probe, pool_.started), now);
    Hearing hearing;
    hearing.host = host;
    hearing.cores = belief.standing.cores;
    hearing.own_dispatches = dispatches_[host];
    hearing.back = belief.back;
    hearing.interval = *config_.probe.interval;
    Report counted = report;
    counted.dispatches = dispatches_[host];
    const Learned learned = learn(memory_, counted, hearing, now);
    belief.standing.mean_service_seconds = learned.mean_service_seconds;
    belief.standing.background = learned.background;
    if (learned.requests) live_[host].prediction = {*learned.requests, now};
    pool_.mean_service_seconds = memory_.mean_service_seconds();
    pool_.share = memory_.share;
  }

 private:
  Candidate read(std::size_t i, Instant now) const {
    return candidate(i, config_.hosts[i], beliefs_[i].standing, live_[i], pool_, config_.probe, now);
  }

  Config config_;
  PoolMemory memory_;
  PoolStanding pool_;
  Draw draw_{1};
  double virtual_time_ = 0;
  std::vector<Belief> beliefs_;
  std::vector<Live> live_;
  std::vector<std::uint64_t> dispatches_;
};

struct Outcome {
  std::vector<double> responses;
  std::vector<double> shares;       // of the requests, by host
  std::vector<double> last_chosen;  // s, by host
  double p99() const { return quantile(0.99); }
  double quantile(double q) const {
    std::vector<double> sorted = responses;
    std::sort(sorted.begin(), sorted.end());
    return sorted.at(static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1)));
  }
};

struct Scene {
  std::vector<Machine> machines;
  double utilisation = 0.9, interval = 0.25, end = 400;
  double second_dies = 1e9;  // host 1, at this time
};

Outcome run(Scene scene, Rule& rule) {
  double capacity = 0;
  for (const Machine& machine : scene.machines) capacity += machine.cores - machine.batch;
  const std::size_t hosts = scene.machines.size();
  Outcome outcome{{}, std::vector<double>(hosts), std::vector<double>(hosts)};
  std::vector<double> next_report(hosts);
  for (std::size_t i = 0; i < hosts; ++i) {
    next_report[i] = scene.interval * static_cast<double>(i) / static_cast<double>(hosts);
  }
  const auto report_until = [&](double now) {
    for (;;) {
      const auto next = std::min_element(next_report.begin(), next_report.end());
      if (*next > now) return;
      const auto host = static_cast<std::size_t>(next - next_report.begin());
      Machine& machine = scene.machines[host];
      machine.advance(*next, outcome.responses);
      Report report;
      report.running = machine.tasks();
      report.cores = machine.cores;
      report.cpu_seconds = machine.cpu_seconds();
      if (host != 1 || *next < scene.second_dies) rule.hear(host, report, Instant{Seconds{*next}});
      *next += scene.interval;
    }
  };
  const std::vector<Arrival> all = arrivals(scene.utilisation * capacity / kMeanService, scene.end, 42);
  for (const Arrival& arrival : all) {
    report_until(arrival.time);
    const std::size_t host = rule.choose(Instant{Seconds{arrival.time}});
    outcome.shares[host] += 1 / static_cast<double>(all.size());
    outcome.last_chosen[host] = arrival.time;
    scene.machines[host].advance(arrival.time, outcome.responses);
    scene.machines[host].add(arrival);
  }
  report_until(scene.end + 60);
  return outcome;
}

Config config_of(std::size_t hosts) {
  Config config;
  config.hosts.resize(hosts);
  return config;
}

Outcome run_predict(const Scene& scene) {
  Predict rule(config_of(scene.machines.size()), scene.interval);
  return run(scene, rule);
}

TEST(Simulation, PredictBeatsRoundRobinClearlyOnABusyPool) {
  const Scene scene{std::vector<Machine>(4)};
  RoundRobin round_robin(4);
  const double turn = run(scene, round_robin).p99(), predicted = run_predict(scene).p99();
  RecordProperty("p99_ratio_percent", static_cast<int>(100 * predicted / turn));
  EXPECT_LT(predicted, 0.75 * turn);
}

TEST(Simulation, PredictBeatsRoundRobinOnAPoolOf16WithRareReports) {
  Scene scene{std::vector<Machine>(16)};
  scene.interval = 2;
  scene.end = 150;
  RoundRobin round_robin(16);
  EXPECT_LT(run_predict(scene).p99(), 0.9 * run(scene, round_robin).p99());
}

TEST(Simulation, PlainLeastLoadFailsBadly) {
  Scene scene{std::vector<Machine>(16)};
  scene.interval = 2;
  scene.end = 150;
  RoundRobin round_robin(16);
  LeastReported least(16);
  const double flooded = run(scene, least).p99();
  EXPECT_GT(flooded, 3 * run(scene, round_robin).p99());
  EXPECT_GT(flooded, 4 * run_predict(scene).p99());
}

TEST(Simulation, EqualHostsGetEqualParts) {
  const Scene scene{std::vector<Machine>(4)};
  for (const double share : run_predict(scene).shares) EXPECT_NEAR(share, 0.25, 0.01);
}

TEST(Simulation, HostsGetPartsInProportionToTheirCores) {
  Scene scene{std::vector<Machine>(3)};
  scene.machines[0].cores = 2;
  scene.machines[2].cores = 8;
  const Outcome outcome = run_predict(scene);
  EXPECT_NEAR(outcome.shares[0], 2.0 / 14, 0.03);
  EXPECT_NEAR(outcome.shares[1], 4.0 / 14, 0.03);
  EXPECT_NEAR(outcome.shares[2], 8.0 / 14, 0.03);
}

TEST(Simulation, WeightsGiveTheirSharesAtHalfUtilisation) {
  for (const double interval : {0.25, 2.0}) {
    Scene scene{std::vector<Machine>(3)};
    scene.utilisation = 0.5;
    scene.interval = interval;
    Config config = config_of(3);
    config.hosts[1].weight = 2;
    config.hosts[2].weight = 5;
    Predict rule(config, interval);
    const Outcome outcome = run(scene, rule);
    EXPECT_NEAR(outcome.shares[0], 0.125, 0.05);
    EXPECT_NEAR(outcome.shares[1], 0.25, 0.05);
    EXPECT_NEAR(outcome.shares[2], 0.625, 0.05);
  }
}

TEST(Simulation, ABatchJobTurnsRequestsAwayFromItsHost) {
  Scene scene{std::vector<Machine>(4)};
  scene.utilisation = 0.7;
  scene.machines[0].batch = 2;
  const Outcome outcome = run_predict(scene);
  EXPECT_LT(outcome.shares[0], 0.7 * 0.25);
  EXPECT_GT(outcome.shares[0], 0.3 * 0.25);
}

TEST(Simulation, AHostThatFallsSilentGetsFewMoreRequestsAndThenNone) {
  Scene scene{std::vector<Machine>(4)};
  scene.utilisation = 0.5;
  scene.end = 100;
  scene.second_dies = 50;
  const Outcome outcome = run_predict(scene);
  EXPECT_GT(outcome.last_chosen[1], 50);
  EXPECT_LT(outcome.last_chosen[1], 52.25);
  EXPECT_GT(outcome.last_chosen[0], 99);
}

TEST(Simulation, AHundredHostsAreServedFromDrawnCandidates) {
  Scene scene{std::vector<Machine>(100)};
  scene.end = 40;
  RoundRobin round_robin(100);
  const Outcome outcome = run_predict(scene);
  EXPECT_LT(outcome.p99(), 0.8 * run(scene, round_robin).p99());
  EXPECT_LT(*std::max_element(outcome.shares.begin(), outcome.shares.end()), 0.0125);
  EXPECT_GT(*std::min_element(outcome.shares.begin(), outcome.shares.end()), 0.0075);
}

TEST(Simulation, IsTheSameEveryTime) {
  Scene scene{std::vector<Machine>(4)};
  scene.end = 50;
  EXPECT_EQ(run_predict(scene).responses, run_predict(scene).responses);
}

}  // namespace
}  // namespace balance
