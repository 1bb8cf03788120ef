// SPDX-License-Identifier: MIT
// What poolwatch hears, and what it believes then. Floor 2.
#include "balance/pool/belief.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "balance/pool/snapshot.h"

namespace balance {
namespace {

constexpr int kGoodNeeded = 2;
constexpr std::size_t kLongestCause = 111;
// A kernel computes its boot time from the wall clock, so it wanders a little when that is set.
constexpr double kBootWander = 5, kStartWander = 0.5;  // s

bool is_sure(Failure failure) { return failure == Failure::refused || failure == Failure::reset; }

bool differs(const std::optional<double>& before, const std::optional<double>& after, double wander) {
  return before && after && std::fabs(*after - *before) > wander;
}

Instant heard_of(const Standing& standing, const Limits& limits) {
  return limits.probed ? standing.reported : standing.web_answered;
}

// Derives health and cause from what is known of both ports and of the duty. `heard`: the last sign of life.
Belief settled(Belief belief, Instant heard, Instant now) {
  Standing& standing = belief.standing;
  const Health before = standing.health;
  if (belief.probe_down || belief.web_down) {
    standing.health = Health::down;
  } else {
    standing.health = heard == base::kNever ? Health::unknown : Health::up;
  }
  standing.probe_refused = belief.probe_down && !belief.said_down && !belief.web_down;
  if (standing.health != before) standing.changed = now;

  if (belief.probe_down) {
    standing.cause = belief.probe_trouble;
  } else if (belief.web_down) {
    standing.cause = belief.web_trouble;
  } else if (standing.duty != Duty::serving) {
    standing.cause = belief.duty_reason;
  } else {
    standing.cause = belief.probe_trouble.empty() ? belief.web_trouble : belief.probe_trouble;
  }
  if (standing.cause.size() > kLongestCause) standing.cause.resize(kLongestCause);
  return belief;
}

void note_figures(Standing& standing, const Report& report) {
  if (report.cores) standing.cores = *report.cores;
  standing.running = report.running;
  standing.waiting = report.waiting;
  standing.load1 = report.load1;
  standing.map_running = report.map_running;
}

void note_duty(Belief& belief, const Report& report, Instant now) {
  if (belief.standing.duty != report.duty) belief.standing.changed = now;
  belief.standing.duty = report.duty;
  belief.duty_reason = report.reason;
}

double median(std::vector<double> values, double if_empty) {
  if (values.empty()) return if_empty;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Limits limits_of(const HostConfig& host, const ProbeConfig& probe, Instant started) {
  return {probe.expire_of(host.probe), started, host.probe != ProbeKind::none};
}

Belief with_report(Belief before, const Report& report, const Limits& limits, Instant now) {
  Belief after = std::move(before);
  const Standing was = after.standing;
  const bool first = was.reported == base::kNever;
  const bool rebooted = differs(after.boot_time, report.boot_time, kBootWander) ||
                        differs(after.start_time, report.start_time, kStartWander);
  if (report.boot_time) after.boot_time = report.boot_time;
  if (report.start_time) after.start_time = report.start_time;

  note_figures(after.standing, report);
  note_duty(after, report, now);
  after.standing.reported = now;
  after.said_down = report.mapserver_up == false;
  if (after.said_down) {
    after.good_reports = 0;
    after.probe_down = true;
    after.probe_trouble = "mapserver: not answering on its host";
  } else {
    after.good_reports = std::min(after.good_reports + 1, kGoodNeeded);
    if (first || after.good_reports >= kGoodNeeded) after.probe_down = false;
    if (!after.probe_down) after.probe_trouble.clear();
  }
  after = settled(std::move(after), now, now);

  const bool was_away = now - was.reported >= limits.expire || rebooted ||
                        (was.health == Health::down && after.standing.health != Health::down) ||
                        (was.duty == Duty::off && report.duty != Duty::off);
  after.back = first ? now - limits.started > 2 * limits.expire : was_away;
  if (after.back) after.standing.up_since = now;
  return after;
}

Belief with_probe_failure(Belief before, const ProbeFailure& failure, Instant now) {
  Belief after = std::move(before);
  after.back = false;
  after.good_reports = 0;
  if (is_sure(failure.failure)) {
    after.probe_down = true;
    after.probe_trouble = "probe port: " + failure.what;
  } else if (!after.probe_down) {
    after.probe_trouble = "probe port: " + failure.what;
  }
  return settled(after, after.standing.reported, now);
}

Belief with_web_answer(Belief before, const Limits& limits, Instant now) {
  Belief after = std::move(before);
  const bool was_down = after.standing.health == Health::down;
  after.back = false;
  after.good_checks = std::min(after.good_checks + 1, kGoodNeeded);
  after.standing.web = WebPort::answers;
  after.standing.web_answered = now;
  after.web_silent_since = base::kNever;
  if (limits.probed || after.good_checks >= kGoodNeeded) after.web_down = false;
  if (!after.web_down) after.web_trouble.clear();
  after = settled(after, heard_of(after.standing, limits), now);
  if (was_down && after.standing.health != Health::down) after.standing.up_since = now;
  return after;
}

Belief with_web_failure(Belief before, const ProbeFailure& failure, const Limits& limits, Instant now) {
  Belief after = std::move(before);
  after.back = false;
  after.good_checks = 0;
  if (after.web_silent_since == base::kNever) after.web_silent_since = now;
  const bool sure = is_sure(failure.failure);
  after.standing.web = sure ? WebPort::refused : WebPort::silent;
  if (sure || !after.web_down) after.web_trouble = "web port: " + failure.what;
  if (sure || now - after.web_silent_since >= limits.expire) after.web_down = true;
  return settled(after, heard_of(after.standing, limits), now);
}

bool is_panic(const std::vector<HostConfig>& hosts, const std::vector<Standing>& standings, const PoolStanding& pool,
              const ProbeConfig& probe, double panic, Instant now) {
  if (!(panic > 0)) return false;
  std::size_t probed = 0, silent = 0;
  PoolStanding calm = pool;
  calm.panic = false;
  calm.beat = now;  // who asks is watching
  for (std::size_t i = 0; i < hosts.size() && i < standings.size(); ++i) {
    if (hosts[i].probe == ProbeKind::none) continue;
    const Tier tier = tier_of(hosts[i], standings[i], calm, probe, now);
    if (tier == Tier::out || tier == Tier::draining) continue;
    ++probed;
    if (tier == Tier::silent) ++silent;
  }
  return static_cast<double>(silent) > panic * static_cast<double>(probed);
}

bool is_web_only(const std::vector<HostConfig>& hosts, const std::vector<Standing>& standings, const PoolStanding& pool,
                 const ProbeConfig& probe, Instant now) {
  PoolStanding watched = pool;
  watched.beat = now;  // who asks is watching
  Tier best = Tier::out;
  for (std::size_t i = 0; i < hosts.size() && i < standings.size(); ++i) {
    best = std::min(best, tier_of(hosts[i], standings[i], watched, probe, now));
  }
  return best == Tier::web_only;
}

PoolStanding with_hosts(PoolStanding before, const std::vector<HostConfig>& hosts,
                        const std::vector<Standing>& standings, const ProbeConfig& probe, double panic, Instant now) {
  PoolStanding after = before;
  after.panic = is_panic(hosts, standings, before, probe, panic, now);
  after.web_only = is_web_only(hosts, standings, after, probe, now);
  std::vector<double> known;
  for (std::size_t i = 0; i < hosts.size() && i < standings.size(); ++i) {
    if (standings[i].cores > 0) {
      known.push_back(standings[i].cores);
    } else if (hosts[i].cores) {
      known.push_back(*hosts[i].cores);
    }
  }
  after.median_cores = median(std::move(known), 1);
  after.greatest_capacity = 0;
  PoolStanding watched = after;
  watched.beat = now;
  for (std::size_t i = 0; i < hosts.size() && i < standings.size(); ++i) {
    if (tier_of(hosts[i], standings[i], watched, probe, now) != Tier::usable) continue;
    after.greatest_capacity = std::max(
        after.greatest_capacity, cores_of(hosts[i], standings[i], after) * weight_of(hosts[i], standings[i].by_hand));
  }
  return after;
}

Transition transition(const Standing& before, const Standing& after, Tier tier_before, Tier tier_after) {
  const bool silent = tier_after == Tier::silent, was_silent = tier_before == Tier::silent;
  if (after.health != before.health) {
    if (after.health == Health::down) return {true, "host down", after.cause};
    if (after.health == Health::wrong) return {true, "host wrong", after.cause};
  }
  if (after.duty != before.duty && after.duty != Duty::serving) {
    return {true, "host " + std::string(name_of(after.duty)), after.cause};
  }
  if (silent && !was_silent) return {true, "host silent", after.cause};
  if (after.health != Health::up || after.duty != Duty::serving || silent || tier_after == Tier::out) return {};
  if (before.health == Health::unknown) return {true, "host up", "first answer"};
  if (before.health != after.health) return {true, "host up", "answers again"};
  if (before.duty != after.duty) return {true, "host up", "serving again"};
  if (was_silent) return {true, "host up", "reports again"};
  return {};
}

}  // namespace balance
