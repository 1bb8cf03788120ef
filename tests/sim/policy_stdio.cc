// SPDX-License-Identifier: MIT
// Drives the very policy code that `balance` and `poolwatch` use by a line protocol on standard input and output, with
// simulated time, so that a simulator can judge it. One balancer a process.
//
//   init N T BALANCER K SEED RELAY                                      hosts, report interval (s), balancers
//   host INDEX CORES WEIGHT                                             N times
//   report TIME HOST LOAD1 RUNNING REQS CORES PSI10 ARRIVED COMPLETED BUSY      -1: not known
//   done TIME HOST LATENCY OK                                           relay mode: an own request ended
//   choose TIME                                                         answered by the host's index
//   end
#include <cstdint>
#include <deque>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "balance/pool/belief.h"
#include "balance/pool/gather.h"
#include "balance/pool/learning.h"
#include "balance/pool/policy.h"

namespace balance {
namespace {

// poolwatch beats this often; standings of the whole pool (panic and the like) are no fresher.
constexpr Seconds kBeat{0.25};
// A dispatch is this long on its way to the host: a report that comes sooner does not show it. Running tasks show it
// later than a count of requests does (found by trying 0, 10 and 20 ms at 16 hosts with four balancers).
constexpr Seconds kUntilCounted{0.01}, kUntilRunning{0.02};
constexpr std::size_t kMostHosts = 100000;

Instant at(double time) { return Instant{Seconds{time}}; }

std::optional<double> known(double value) { return value < 0 ? std::nullopt : std::optional<double>{value}; }

// A pool with everything that the table and poolwatch keep of it, in plain variables.
class Pool {
 public:
  Pool(std::size_t hosts, double interval, unsigned balancers, std::uint64_t seed, Mode mode)
      : memory_(empty_memory(hosts, balancers)), draw_{seed} {
    config_.mode = mode;
    config_.hosts.resize(hosts);
    config_.peers = balancers;
    config_.probe.interval = Seconds{interval};
    beliefs_.resize(hosts);
    standings_.resize(hosts);
    words_.resize(hosts, packed(Prediction{}));
    turns_.resize(hosts);
    dispatches_.resize(hosts);
    under_way_.resize(hosts);
    in_flight_.resize(hosts);
    outcomes_.resize(hosts);
    pool_.started = at(0);
  }

  void configure(std::size_t host, double cores, double weight) {
    config_.hosts.at(host).cores = cores;
    config_.hosts.at(host).weight = weight;
  }

  void report(std::size_t host, const Report& report, Instant now) {
    beat(now);
    const HostConfig& configured = config_.hosts.at(host);
    Belief& belief = beliefs_[host];
    belief = with_report(belief, report, limits_of(configured, config_.probe, pool_.started), now);
    Standing& standing = belief.standing;

    Hearing hearing;
    hearing.host = host;
    hearing.cores = cores_of(configured, standing, pool_);
    hearing.own_dispatches = dispatches_[host];
    hearing.unseen = static_cast<double>(recent(host, report.requests ? kUntilCounted : kUntilRunning, now));
    hearing.predicted = drained(unpacked(words_[host], now), drain_of(read(host, now)), now).requests;
    if (config_.mode == Mode::relay) hearing.relayed = in_flight_[host] / memory_.share;
    hearing.back = belief.back;
    hearing.interval = config_.probe.interval_of(configured.probe);
    const Learned learned = learn(memory_, report, hearing, now);
    standing.mean_service_seconds = learned.mean_service_seconds;
    standing.background = learned.background;
    if (learned.requests) words_[host] = packed({*learned.requests, now});
    pool_.mean_service_seconds = memory_.mean_service_seconds();
    pool_.share = memory_.share;
    standings_[host] = standing;
  }

  // The simulated hosts fail by being dead.
  void done(std::size_t host, bool is_fine, Instant now) {
    if (in_flight_[host] > 0) --in_flight_[host];
    outcomes_[host] = with_end(outcomes_[host], is_fine ? Relayed::fine : Relayed::no_connection, now);
  }

  std::size_t choose(Instant now) {
    beat(now);
    Snapshot snapshot = empty_snapshot(config_, pool_, virtual_time_, now);
    const Field field{
        config_.hosts.size(), pool_.greatest_capacity, {}, config_.mode == Mode::relay ? kDrawnForRelay : kDrawn};
    snapshot.candidates = gather(field, draw_, [&](std::size_t i) { return std::optional(read(i, now)); });
    const Choice choice = config_.mode == Mode::relay ? relay_predict(snapshot, Draw{draw_.next()}) : predict(snapshot);
    if (choice.hosts.empty()) return draw_.below(config_.hosts.size());  // the protocol knows no refusal
    const std::size_t host = choice.hosts.front();
    const Candidate& candidate = candidate_of(snapshot, host);
    if (choice.took_turn) {
      const Turn turn = turn_taken(candidate, virtual_time_);
      turns_[host] = turn.host;
      virtual_time_ = turn.pool;
    }
    words_[host] = packed(with_dispatch(unpacked(words_[host], now), candidate, snapshot));
    ++dispatches_[host];
    if (config_.mode == Mode::relay) ++in_flight_[host];
    under_way_[host].push_back(now);
    return host;
  }

 private:
  Candidate read(std::size_t i, Instant now) const {
    return candidate(i, config_.hosts[i], standings_[i],
                     {unpacked(words_[i], now), turns_[i], in_flight_[i], outcomes_[i]}, pool_, config_.probe, now);
  }

  void beat(Instant now) {
    if (now - pool_.beat < kBeat) return;
    pool_ = with_hosts(pool_, config_.hosts, standings_, config_.probe, config_.panic, now);
    pool_.beat = now;
  }

  std::size_t recent(std::size_t host, Seconds within, Instant now) {
    std::deque<Instant>& queue = under_way_[host];
    while (!queue.empty() && queue.front() < now - within) queue.pop_front();
    return queue.size();
  }

  Config config_;
  PoolStanding pool_;
  PoolMemory memory_;
  Draw draw_;
  double virtual_time_ = 0;
  std::vector<Belief> beliefs_;
  std::vector<Standing> standings_;
  std::vector<std::uint64_t> words_;
  std::vector<double> turns_;
  std::vector<std::uint64_t> dispatches_;
  std::vector<std::deque<Instant>> under_way_;
  std::vector<std::uint32_t> in_flight_;
  std::vector<Outcomes> outcomes_;
};

// The rest of a `report` line; nothing if it is none.
struct Heard {
  double time = 0;
  std::size_t host = 0;
  Report report;
};
std::optional<Heard> parse_heard(std::istream& line) {
  Heard heard;
  double load1 = -1, running = -1, requests = -1, cores = -1, pressure = -1, arrived = -1, completed = -1, busy = -1;
  line >> heard.time >> heard.host >> load1 >> running >> requests >> cores >> pressure >> arrived >> completed >> busy;
  if (!line) return std::nullopt;
  Report& report = heard.report;
  report.load1 = known(load1);
  report.running = known(running);
  report.requests = known(requests);
  report.cores = known(cores);
  report.pressure = known(pressure);
  report.completed = known(completed);
  report.cpu_seconds = known(busy);
  if (arrived >= 0) report.dispatches = static_cast<std::uint64_t>(arrived);
  return heard;
}

int fail(const std::string& line, const char* wanted) {
  std::cerr << "policy_stdio: found '" << line << "'; wanted " << wanted << '\n';
  return 1;
}

int run() {
  std::optional<Pool> pool;
  std::string line, word;
  std::size_t hosts = 0;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    in >> word;
    if (word == "init") {
      double interval = 0;
      unsigned balancer = 0, balancers = 1;
      std::uint64_t seed = 0;
      int relay = 0;
      if (!(in >> hosts >> interval >> balancer >> balancers >> seed >> relay) || hosts < 1 || hosts > kMostHosts ||
          !(interval > 0)) {
        return fail(line, "'init N T BALANCER K SEED RELAY'");
      }
      pool.emplace(hosts, interval, balancers, seed, relay != 0 ? Mode::relay : Mode::automatic);
    } else if (word == "end") {
      return 0;
    } else if (!pool) {
      return fail(line, "'init' first");
    } else if (word == "host") {
      std::size_t host = 0;
      double cores = 0, weight = 0;
      if (!(in >> host >> cores >> weight) || host >= hosts) return fail(line, "'host INDEX CORES WEIGHT'");
      pool->configure(host, cores, weight);
    } else if (word == "report") {
      const std::optional<Heard> heard = parse_heard(in);
      if (!heard || heard->host >= hosts) return fail(line, "a report of ten figures");
      pool->report(heard->host, heard->report, at(heard->time));
    } else if (word == "choose") {
      double time = 0;
      if (!(in >> time)) return fail(line, "'choose TIME'");
      std::cout << pool->choose(at(time)) << '\n' << std::flush;
    } else if (word == "done") {
      double time = 0, latency = 0;
      std::size_t host = 0;
      int is_fine = 0;
      if (!(in >> time >> host >> latency >> is_fine) || host >= hosts)
        return fail(line, "'done TIME HOST LATENCY OK'");
      pool->done(host, is_fine != 0, at(time));
    } else {
      return fail(line, "init, host, report, choose, done or end");
    }
  }
  return 0;
}

}  // namespace
}  // namespace balance

int main() {
  std::ios::sync_with_stdio(false);
  return balance::run();
}
