// SPDX-License-Identifier: MIT
// The predicted requests in progress on a host: the word of the table, and the drain. Floor 2.
#include "balance/pool/prediction.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace balance {
namespace {

constexpr double kMostRequests = 1e6;
constexpr double kTick = 0.001;  // s

// The comparison is false for NaN.
double sane(double requests) { return requests > 0 ? std::min(requests, kMostRequests) : 0; }

std::uint32_t ticks_of(base::Instant at) {
  return static_cast<std::uint32_t>(std::llround(at.time_since_epoch().count() / kTick));
}

}  // namespace

std::uint64_t packed(const Prediction& prediction) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(sane(prediction.requests)));
  return (std::uint64_t{bits} << 32) | ticks_of(prediction.at);
}

Prediction unpacked(std::uint64_t word, base::Instant now) {
  const double requests = std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32));
  const auto ticks = static_cast<std::uint32_t>(word);
  const auto ahead = static_cast<std::int32_t>(ticks - ticks_of(now));
  const double rounded_now = std::round(now.time_since_epoch().count() / kTick) * kTick;
  return {sane(requests), base::Instant{base::Seconds{rounded_now + ahead * kTick}}};
}

Prediction drained(Prediction before, const Drain& drain, base::Instant now) {
  double elapsed = (std::min(now, drain.credit_until) - before.at).count();
  before.at = now;
  if (!(elapsed > 0) || !(before.requests > 0)) return before;
  if (before.requests > drain.cores) {
    const double until_free = (before.requests - drain.cores) * drain.mean_service_seconds / drain.cores;
    if (elapsed <= until_free) {
      before.requests -= elapsed * drain.cores / drain.mean_service_seconds;
      return before;
    }
    before.requests = drain.cores;
    elapsed -= until_free;
  }
  before.requests *= std::exp(-elapsed / drain.mean_service_seconds);
  return before;
}

}  // namespace balance
