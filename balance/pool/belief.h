// SPDX-License-Identifier: MIT
// How what poolwatch hears changes what it believes of a host: one function an event, state in, state out. What it
// learns of speeds and shares is learning.h's. Floor 2: values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balance/pool/standing.h"

namespace balance {

// A standing, and what must be remembered to take the next step. poolwatch's own; only the standing is published.
struct Belief {
  Standing standing;
  bool probe_down = false;  // the probe port or the report said so
  bool said_down = false;   // ... the last report said so
  bool web_down = false;    // the web port refused, or was silent for `expire`
  // The last report came after an absence (the host was silent for `expire`, down, off, or booted): counters start
  // anew in learn(). Belongs to the last with_report() alone.
  bool back = false;
  int good_reports = 0;                         // in a row
  int good_checks = 0;                          // web checks, in a row
  Instant web_silent_since = base::kNever;      // of the first web check without an answer since the last with one
  std::optional<double> boot_time, start_time;  // of the last report: another one is a reboot
  std::string probe_trouble, web_trouble;       // the causes, while there are any
  std::string duty_reason;                      // the administrator's words
};

// How a probe or check failed. `refused` and `reset` are a host down for sure; the others are silence.
enum class Failure : std::uint8_t { refused, reset, timeout, unresolvable, garbage };

struct ProbeFailure {
  Failure failure = Failure::timeout;
  std::string what;  // one phrase, for the cause: "no answer within 500ms", "connection refused"
};

// What the events below are judged by.
struct Limits {
  Seconds expire{2};               // ProbeConfig::expire_of(the host's kind)
  Instant started = base::kNever;  // poolwatch began
  bool probed = true;              // false: probe=none, the web check alone tells
};
Limits limits_of(const HostConfig& host, const ProbeConfig& probe, Instant started);

// Up again after two good reports (the first ever: after one), and once the web port answers if it was known to be
// dead. A report that says draining, off or a dead mapserver counts at once. Slow start begins (up_since = now) when
// the host was away, but not at its first report within 2 x expire of poolwatch's start.
Belief with_report(Belief before, const Report& report, const Limits& limits, Instant now);
// Refused and reset: down at once. The rest changes nothing but the cause: the tier tells silence from `reported`.
Belief with_probe_failure(Belief before, const ProbeFailure& failure, Instant now);
// A dead web port is back with the first answer, of a host without a probe with the second.
Belief with_web_answer(Belief before, const Limits& limits, Instant now);
// Refused and reset: down at once, however lively the probe. Others: down once they have lasted for `expire`.
Belief with_web_failure(Belief before, const ProbeFailure& failure, const Limits& limits, Instant now);

// Whether more than `panic` of the probed serving hosts (0 to 1; 0: never) are silent, those down for sure not
// counted among them. Parallel arrays.
bool is_panic(const std::vector<HostConfig>& hosts, const std::vector<Standing>& standings, const PoolStanding& pool,
              const ProbeConfig& probe, double panic, Instant now);

// Whether no host stands better than Tier::web_only, and one stands there. Parallel arrays.
bool is_web_only(const std::vector<HostConfig>& hosts, const std::vector<Standing>& standings, const PoolStanding& pool,
                 const ProbeConfig& probe, Instant now);

// What the pool's standing gathers from all hosts: panic, web_only, the median of the known cores, the greatest
// capacity. Beat, start, M and phi are left as in `before`. Parallel arrays.
PoolStanding with_hosts(PoolStanding before, const std::vector<HostConfig>& hosts,
                        const std::vector<Standing>& standings, const ProbeConfig& probe, double panic, Instant now);

// A line for the log when a host's health, duty or tier changed between two beliefs: one a real change.
struct Transition {
  bool happened = false;
  std::string what;  // "host up", "host down", "host wrong", "host silent", "host draining", "host off"
  std::string cause;
};
Transition transition(const Standing& before, const Standing& after, Tier tier_before, Tier tier_after);

}  // namespace balance
