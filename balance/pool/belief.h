// SPDX-License-Identifier: MIT
// How what poolwatch hears changes what it believes of a host: one function an event, state in, state out. What it
// learns of speeds and shares is learning.h's. Floor 2: values and pure functions, any thread.
#pragma once

#include <string>

#include "balance/pool/standing.h"

namespace balance {

// A standing, and what must be remembered to take the next step. poolwatch's own; only the standing is published.
struct Belief {
  Standing standing;
  int good_reports = 0;                         // in a row, since it was down
  int good_checks = 0;                          // web checks, likewise
  std::optional<double> boot_time, start_time;  // of the last report: another one is a reboot
};

// How a probe or check failed. `refused` and `reset` are a host down for sure; the others are silence.
enum class Failure : std::uint8_t { refused, reset, timeout, unresolvable, garbage };

struct ProbeFailure {
  Failure failure = Failure::timeout;
  std::string what;  // one phrase, for the cause: "no answer within 500ms"
};

// Up again after two good reports (the first ever: after one); a report that says draining, off or a dead mapserv
// counts at once. `back` of learning.h resets slow start.
Belief with_report(Belief before, const Report& report, Instant now);
Belief with_probe_failure(Belief before, const ProbeFailure& failure, Instant now);
Belief with_web_answer(Belief before, Instant now);
Belief with_web_failure(Belief before, const ProbeFailure& failure, Instant now);

// Whether more than `panic` of the probed serving hosts are silent, none of them down for sure.
// A line for the log when health, duty or tier changed between two beliefs, else "": "host down" and its cause.
struct Transition {
  bool happened = false;
  std::string what;  // "host up", "host down", "host silent", "host draining", "host wrong"
  std::string cause;
};
Transition transition(const Standing& before, const Standing& after, Tier tier_before, Tier tier_after);

}  // namespace balance
