// SPDX-License-Identifier: MIT
// The word: ticks of 10 ms since boot (40 bits, 348 years), how many ticks before it the previous failure was (10 bits;
// all ones: there was none within kFailuresWithin), whether the host is out since then (1 bit), the end (8 bits).
// Floor 2.
#include "balance/pool/outcomes.h"

#include <algorithm>
#include <cmath>

namespace balance {
namespace {

constexpr double kTick = 0.01;  // s
constexpr std::uint64_t kMostTicks = (std::uint64_t{1} << 40) - 1;
constexpr std::uint64_t kNoPrevious = 1023;
static_assert(kFailuresWithin.count() / kTick < kNoPrevious);
// Processes may have read their clocks this far apart.
constexpr Seconds kAhead{1};

std::uint64_t ticks_of(Instant at) {
  const double ticks = std::round(at.time_since_epoch().count() / kTick);
  return ticks >= 1 ? std::min(static_cast<std::uint64_t>(std::min(ticks, 1e15)), kMostTicks) : 1;
}
Instant instant_of(std::uint64_t ticks) { return Instant{Seconds{static_cast<double>(ticks) * kTick}}; }

bool is_within(Instant earlier, Instant now, Seconds limit) {
  const Seconds age = now - earlier;
  return age <= limit && age >= -kAhead;
}

}  // namespace

std::uint64_t packed(const Outcomes& outcomes) {
  if (outcomes.end == Relayed::fine || outcomes.last == base::kNever) return 0;
  const std::uint64_t last = ticks_of(outcomes.last);
  std::uint64_t before = kNoPrevious;
  if (outcomes.previous != base::kNever) {
    const std::uint64_t previous = std::min(ticks_of(outcomes.previous), last);
    before = std::min(last - previous, kNoPrevious);
  }
  return last << 24 | before << 14 | (outcomes.took_out ? std::uint64_t{1} << 8 : 0) |
         static_cast<std::uint64_t>(outcomes.end);
}

Outcomes outcomes_of(std::uint64_t word) {
  Outcomes outcomes;
  const std::uint64_t end = word & 0xFF, last = word >> 24, before = (word >> 14) & kNoPrevious;
  if (end == 0 || end >= kRelayedEnds || last == 0) return outcomes;
  outcomes.end = static_cast<Relayed>(end);
  outcomes.last = instant_of(last);
  if (before != kNoPrevious && before < last) outcomes.previous = instant_of(last - before);
  outcomes.took_out = (word >> 8 & 1) != 0;
  return outcomes;
}

Outcomes with_end(const Outcomes& before, Relayed end, Instant now) {
  if (end == Relayed::fine) return before;
  const bool is_sure = end == Relayed::no_connection;
  // What was under way when the host went out says nothing new.
  if (is_out(before, now) && !is_sure) return before;
  Outcomes after;
  after.end = end;
  after.last = now;
  if (is_within(before.last, now, kFailuresWithin)) after.previous = before.last;
  const bool is_third = after.previous != base::kNever && is_within(before.previous, now, kFailuresWithin);
  after.took_out = is_sure || is_third;
  return after;
}

bool is_out(const Outcomes& outcomes, Instant now) {
  return outcomes.took_out && is_within(outcomes.last, now, kOutFor);
}

std::string cause_of(const Outcomes& outcomes) { return "relayed requests: " + std::string(phrase_of(outcomes.end)); }

Tier tier_with(Tier tier, const Outcomes& outcomes, Instant now) {
  if (!is_out(outcomes, now)) return tier;
  return tier == Tier::draining ? Tier::out : std::max(tier, Tier::failed);
}

}  // namespace balance
