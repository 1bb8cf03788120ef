// SPDX-License-Identifier: MIT
// What the administrator has said of a host while everything runs: a weight, a duty. It counts over the host line of
// the configuration, and lives in one word a host of the table. Floor 2: values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "balance/ground/config.h"
#include "loadprobe/base/time.h"
#include "loadprobe/report.h"

namespace balance {

using base::Instant;
using base::Seconds;
using loadprobe::Duty;

struct ByHand {
  std::optional<double> weight = {};  // 0 to 1000, six digits behind the point; nothing: as configured
  Duty duty = Duty::serving;
  std::optional<Instant> until = {};  // when the duty ends; nothing: never
  friend bool operator==(const ByHand&, const ByHand&) = default;
};

// The duty set by hand as it counts at this instant: serving once its time is over.
Duty duty_at(const ByHand& by_hand, Instant now);
// The weight in force.
inline double weight_of(const HostConfig& host, const ByHand& by_hand) { return by_hand.weight.value_or(host.weight); }

// The word of the table: 0 for nothing said; the weight in millionths, the end of the duty in eighths of a second since
// boot, rounded up. Garbage gives a sane value.
std::uint64_t packed(const ByHand& by_hand);
ByHand by_hand_of(std::uint64_t word);

// Whether the weights in force above 0 are not all equal; nothing where no weight is set by hand. Parallel arrays.
std::optional<bool> weights_differ(const std::vector<HostConfig>& hosts, const std::vector<ByHand>& by_hand);

}  // namespace balance
