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

// The nearest tick, for which std::llround would be a call. Garbage, which a signed 64-bit number does not hold, gives
// 0.
std::int64_t ticks_of(base::Instant at) {
  constexpr double kMostTicks = 9e18;
  const double ticks = at.time_since_epoch().count() / kTick;
  if (!(ticks > -kMostTicks && ticks < kMostTicks)) return 0;
  return static_cast<std::int64_t>(ticks < 0 ? ticks - 0.5 : ticks + 0.5);
}

}  // namespace

std::uint64_t packed(const Prediction& prediction) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(sane(prediction.requests)));
  return (std::uint64_t{bits} << 32) | static_cast<std::uint32_t>(ticks_of(prediction.at));
}

Prediction unpacked(std::uint64_t word, base::Instant now) {
  const double requests = std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32));
  const std::int64_t now_ticks = ticks_of(now);
  const auto ahead =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(word) - static_cast<std::uint32_t>(now_ticks));
  return {sane(requests), base::Instant{base::Seconds{static_cast<double>(now_ticks + ahead) * kTick}}};
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
