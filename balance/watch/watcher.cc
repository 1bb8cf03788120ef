// SPDX-License-Identifier: MIT
// See watcher.h.
#include "balance/watch/watcher.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "balance/ground/reply.h"
#include "balance/pool/snapshot.h"
#include "balance/watch/schedule.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

// We did not run for that long (stopped, frozen, a machine without CPU to spare): what we have not heard says nothing.
constexpr Seconds kStoodStill{1};

// What is due within so short a time is done together: of a thousand hosts something is due twice a millisecond, and
// each turn looks at all of them.
constexpr Seconds kTogether{0.004};

Seconds longest_wait(const ProbeConfig& probe) { return std::max(probe.timeout, probe.web_timeout); }

bool stays(const HostConfig& now, const HostConfig& before) {
  return now.name == before.name && now.public_url == before.public_url && now.inside == before.inside &&
         now.script == before.script && now.probe == before.probe && now.probe_port == before.probe_port;
}

std::string percent(double fraction) { return base::to_text(fraction * 100) + "%"; }

}  // namespace

Watcher::Watcher(Config config, Prober& prober, Table& table, Instant now)
    : config_(std::move(config)),
      prober_(&prober),
      table_(&table),
      hosts_(config_.hosts.size()),
      standings_(config_.hosts.size()),
      memory_(empty_memory(config_.hosts.size(), config_.peers)),
      beat_due_(now),
      last_turn_(now) {
  pool_.started = now;
  for (Host& host : hosts_) host.probe.due = host.web.due = now;
  // The mean service time is the pool's, not ours: an earlier poolwatch knew it better than a guess.
  if (const std::optional<PoolStanding> before = table.pool()) {
    memory_.busy_seconds = before->mean_service_seconds * memory_.completed;
  }
  pool_.mean_service_seconds = memory_.mean_service_seconds();
  pool_.share = memory_.share;
}

Watcher::Watcher(Config config, Prober& prober, Table& table, Instant now, const Watcher& before,
                 const std::vector<std::optional<std::size_t>>& was)
    : Watcher(std::move(config), prober, table, now) {
  std::vector<HostMemory> memories(hosts_.size());
  memory_ = before.memory_;
  pool_ = before.pool_;
  for (std::size_t i = 0; i < hosts_.size() && i < was.size(); ++i) {
    if (!was[i]) continue;
    const Host& earlier = before.hosts_.at(*was[i]);
    hosts_[i].belief = earlier.belief;
    hosts_[i].tier = earlier.tier;
    hosts_[i].probe.ended_once = earlier.probe.ended_once;
    hosts_[i].web.ended_once = earlier.web.ended_once;
    standings_[i] = earlier.belief.standing;
    hosts_[i].duty_by_hand = earlier.duty_by_hand;
    memories[i] = before.memory_.hosts.at(*was[i]);
  }
  memory_.hosts = std::move(memories);
  // What was under way is lost with the old prober: its silence is ours.
  blind_until_ = now + longest_wait(config_.probe);
}

Limits Watcher::limits(std::size_t index) const {
  return limits_of(config_.hosts[index], config_.probe, pool_.started);
}

std::vector<Notice> Watcher::turn(Instant now) {
  std::vector<Notice> notices;
  if (now - last_turn_ > kStoodStill) blind_until_ = now + longest_wait(config_.probe);
  last_turn_ = now;
  for (const Outcome& outcome : prober_->take(now)) hear(outcome, now, notices);
  for (std::size_t i = 0; i < hosts_.size(); ++i) ask(i, now);
  if (now >= beat_due_) beat(now, notices);
  return notices;
}

void Watcher::ask(std::size_t index, Instant now) {
  Host& host = hosts_[index];
  const HostConfig& config = config_.hosts[index];
  const auto begins = [now, index](Turns& turns, Seconds interval) {
    if (turns.under_way || turns.due > now) return false;
    // All at once the first time, since somebody may be waiting for it; then each in its own phase.
    turns.due = turns.begun ? next_due(turns.due, interval, now) : now + interval * phase_of(index);
    turns.begun = turns.under_way = true;
    return true;
  };
  if (config.probe != ProbeKind::none && begins(host.probe, config_.probe.interval_of(config.probe))) {
    host.dispatched = table_->dispatches(index);
    const bool is_ending = duty_of(config, standings_[index], now) != Duty::serving;
    prober_->start_probe({index, table_->balancer_id(), host.dispatched, is_ending}, now);
  }
  if (begins(host.web, config_.probe.web_interval)) prober_->start_web_check(index, now);
}

void Watcher::hear(const Outcome& outcome, Instant now, std::vector<Notice>& notices) {
  Host& host = hosts_.at(outcome.host);
  const Standing before = host.belief.standing;
  if (outcome.of == Outcome::Of::probe) {
    hear_probe(outcome.host, outcome, now);
  } else {
    host.web.under_way = false;
    host.web.ended_once = true;
    const auto* failure = std::get_if<ProbeFailure>(&outcome.what);
    host.belief = failure != nullptr ? with_web_failure(std::move(host.belief), *failure, limits(outcome.host), now)
                                     : with_web_answer(std::move(host.belief), limits(outcome.host), now);
  }
  settle(outcome.host, before, now, notices);
  table_->publish(outcome.host, host.belief.standing);
}

void Watcher::hear_probe(std::size_t index, const Outcome& outcome, Instant now) {
  Host& host = hosts_[index];
  host.probe.under_way = false;
  host.probe.ended_once = true;
  if (const auto* failure = std::get_if<ProbeFailure>(&outcome.what)) {
    host.belief = with_probe_failure(std::move(host.belief), *failure, now);
  } else if (const auto* report = std::get_if<Report>(&outcome.what)) {
    host.belief = with_report(std::move(host.belief), *report, limits(index), now);
    learn_from(index, *report, now);
  }
}

void Watcher::learn_from(std::size_t index, const Report& report, Instant now) {
  const HostConfig& config = config_.hosts[index];
  Standing& standing = hosts_[index].belief.standing;
  const Live live = table_->live(index, now);
  const Candidate seen = candidate(index, config, standing, live, pool_, config_.probe, now);
  const std::uint64_t dispatched = table_->dispatches(index);
  Hearing hearing;
  hearing.host = index;
  hearing.cores = cores_of(config, standing, pool_);
  hearing.own_dispatches = dispatched;
  hearing.unseen = static_cast<double>(dispatched - std::min(dispatched, hosts_[index].dispatched));
  hearing.predicted = drained(live.prediction, drain_of(seen), now).requests;
  if (relays_all(config_)) hearing.relayed = live.in_flight / memory_.share;
  hearing.back = hosts_[index].belief.back;
  hearing.interval = config_.probe.interval_of(config.probe);
  const Learned learned = learn(memory_, report, hearing, now);
  standing.mean_service_seconds = learned.mean_service_seconds;
  standing.background = learned.background;
  if (learned.requests) table_->set_prediction(index, {*learned.requests, now});
}

void Watcher::settle(std::size_t index, const Standing& before, Instant now, std::vector<Notice>& notices) {
  Host& host = hosts_[index];
  const Standing& after = host.belief.standing;
  standings_[index] = after;
  standings_[index].by_hand = host.by_hand;
  PoolStanding watched = pool_;
  watched.beat = now;
  Tier tier = tier_of(config_.hosts[index], standings_[index], watched, config_.probe, now);
  // Silence while we did not listen is not believed.
  if (tier == Tier::silent && now < blind_until_) tier = host.tier;
  Transition change = transition(before, after, host.tier, tier);
  host.tier = tier;
  if (!change.happened) return;
  if (change.what == "host silent" && change.cause.empty()) {
    change.cause = "no report within " + base::to_text(limits(index).expire);
  }
  const bool bad = change.what == "host down" || change.what == "host silent" || change.what == "host wrong";
  notices.push_back({bad ? Notice::Weight::bad : Notice::Weight::good, std::move(change.what),
                     config_.hosts[index].name, std::move(change.cause)});
}

bool Watcher::has_heard_all() const {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!hosts_[i].web.ended_once) return false;
    if (!hosts_[i].probe.ended_once && config_.hosts[i].probe != ProbeKind::none) return false;
  }
  return true;
}

// What was set by hand changes in the table alone, at any moment, and by the mere passing of time.
void Watcher::look_at_hand(std::size_t index, Instant now, std::vector<Notice>& notices) {
  Host& host = hosts_[index];
  host.by_hand = table_->live(index, now).by_hand;
  standings_[index].by_hand = host.by_hand;
  const Duty before = std::exchange(host.duty_by_hand, duty_at(host.by_hand, now));
  if (before == host.duty_by_hand) return;
  const std::string duty = host.duty_by_hand == Duty::serving ? "ready" : std::string(name_of(host.duty_by_hand));
  const bool is_over = host.duty_by_hand == Duty::serving && host.by_hand.duty != Duty::serving;
  notices.push_back({Notice::Weight::good, "host " + duty, config_.hosts[index].name,
                     is_over ? "its time is over" : "set by hand", !is_over});
  if (before != Duty::off) return;
  // It may have been away for long: its caches are cold.
  host.belief.standing.up_since = now;
  table_->publish(index, host.belief.standing);
}

void Watcher::beat(Instant now, std::vector<Notice>& notices) {
  beat_due_ = now + kBeat;
  table_->clear_dead_slots();
  for (std::size_t i = 0; i < hosts_.size(); ++i) look_at_hand(i, now, notices);
  // A beat says that silence means something. It does not before everyone had the time to answer.
  if (now < blind_until_) return;
  if (now < pool_.started + longest_wait(config_.probe) && !has_heard_all()) return;
  const bool was_panic = pool_.panic, was_web_only = pool_.web_only;
  pool_.beat = now;
  pool_.mean_service_seconds = memory_.mean_service_seconds();
  pool_.share = memory_.share;
  pool_ = with_hosts(pool_, config_.hosts, standings_, config_.probe, config_.panic, now);
  for (std::size_t i = 0; i < hosts_.size(); ++i) settle(i, hosts_[i].belief.standing, now, notices);
  table_->publish(pool_);
  if (pool_.panic && !was_panic) {
    notices.push_back({Notice::Weight::bad, "panic", "",
                       "more than " + percent(config_.panic) + " of the probed serving hosts are silent"});
  } else if (was_panic && !pool_.panic) {
    notices.push_back({Notice::Weight::good, "panic over", "", "enough hosts report again"});
  }
  if (pool_.web_only && !was_web_only) {
    notices.push_back({Notice::Weight::bad, "web ports alone", "",
                       "no host is left but those whose probe port refuses and whose web port answers: by weight"});
  } else if (was_web_only && !pool_.web_only) {
    notices.push_back(
        {Notice::Weight::good, "web ports alone over", "", "no host is chosen for its web port alone any more"});
  }
}

Instant Watcher::wake() const {
  Instant next = beat_due_;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const Host& host = hosts_[i];
    if (!host.web.under_way) next = std::min(next, host.web.due);
    if (!host.probe.under_way && config_.hosts[i].probe != ProbeKind::none) next = std::min(next, host.probe.due);
  }
  return std::max(next, last_turn_ + kTogether);
}

void Watcher::use(Table& table) {
  table_ = &table;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].web.ended_once || hosts_[i].probe.ended_once) table_->publish(i, hosts_[i].belief.standing);
  }
  if (pool_.beat != base::kNever) table_->publish(pool_);
}

std::vector<std::optional<std::size_t>> places_before(const Config& now, const Config& before) {
  std::vector<std::optional<std::size_t>> places(now.hosts.size());
  for (std::size_t i = 0; i < now.hosts.size(); ++i) {
    for (std::size_t k = 0; k < before.hosts.size(); ++k) {
      if (stays(now.hosts[i], before.hosts[k])) places[i] = k;
    }
  }
  return places;
}

}  // namespace balance
