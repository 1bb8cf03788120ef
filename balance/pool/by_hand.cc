// SPDX-License-Identifier: MIT
// What was set by hand: as it counts, and as a word. Floor 2.
#include "balance/pool/by_hand.h"

#include <algorithm>
#include <cmath>

namespace balance {
namespace {

constexpr double kMillion = 1e6, kMostWeight = 1000;
constexpr double kTicks = 8;  // a second
constexpr unsigned kHasWeight = 30, kDutyAt = 31, kUntilAt = 33;
constexpr std::uint64_t kWeightMask = (std::uint64_t{1} << kHasWeight) - 1;
constexpr std::uint64_t kMostTicks = (std::uint64_t{1} << (64 - kUntilAt)) - 1;  // 8 years

}  // namespace

Duty duty_at(const ByHand& by_hand, Instant now) {
  return by_hand.until && now >= *by_hand.until ? Duty::serving : by_hand.duty;
}

std::uint64_t packed(const ByHand& by_hand) {
  std::uint64_t word = 0;
  if (by_hand.weight) {
    const double weight = *by_hand.weight > 0 ? std::min(*by_hand.weight, kMostWeight) : 0;
    word = static_cast<std::uint64_t>(std::llround(weight * kMillion)) | std::uint64_t{1} << kHasWeight;
  }
  if (by_hand.duty == Duty::serving) return word;
  word |= static_cast<std::uint64_t>(by_hand.duty) << kDutyAt;
  if (!by_hand.until) return word;
  // An end before this boot is over; 0 would mean none.
  const double ticks =
      std::clamp(std::ceil(by_hand.until->time_since_epoch().count() * kTicks), 1.0, static_cast<double>(kMostTicks));
  return word | static_cast<std::uint64_t>(ticks) << kUntilAt;
}

ByHand by_hand_of(std::uint64_t word) {
  ByHand by_hand;
  if (word == 0) return by_hand;
  if ((word >> kHasWeight & 1) != 0) {
    by_hand.weight = std::min(static_cast<double>(word & kWeightMask) / kMillion, kMostWeight);
  }
  const std::uint64_t duty = word >> kDutyAt & 3;
  if (duty == 0 || duty > static_cast<std::uint64_t>(Duty::off)) return by_hand;
  by_hand.duty = static_cast<Duty>(duty);
  const std::uint64_t ticks = word >> kUntilAt;
  if (ticks > 0) by_hand.until = Instant{Seconds{static_cast<double>(ticks) / kTicks}};
  return by_hand;
}

std::optional<bool> weights_differ(const std::vector<HostConfig>& hosts, const std::vector<ByHand>& by_hand) {
  bool any = false, differ = false;
  std::optional<double> first;
  for (std::size_t i = 0; i < hosts.size() && i < by_hand.size(); ++i) {
    any = any || by_hand[i].weight.has_value();
    const double weight = weight_of(hosts[i], by_hand[i]);
    if (weight <= 0) continue;
    differ = differ || (first && *first != weight);
    first = weight;
  }
  if (!any) return std::nullopt;
  return differ;
}

}  // namespace balance
