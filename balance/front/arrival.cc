// SPDX-License-Identifier: MIT
#include "balance/front/arrival.h"

namespace balance {
namespace {

constexpr double kLeastBytesPerSecond = 500;
constexpr double kUnhurriedBytesPerSecond = 4096;
constexpr base::Seconds kAlwaysHas{1};

}  // namespace

bool is_too_slow(const Arrival& arrival, base::Instant now, base::Seconds silence) {
  if (now - arrival.last >= silence) return true;
  const base::Seconds took = now - arrival.began;
  return took > silence && static_cast<double>(arrival.bytes) < kLeastBytesPerSecond * (took - silence).count();
}

bool may_be_displaced(const Arrival& arrival, base::Instant now) {
  const base::Seconds took = now - arrival.began;
  if (took < kAlwaysHas) return false;
  return now - arrival.last >= kAskedAgain ||
         static_cast<double>(arrival.bytes) < kUnhurriedBytesPerSecond * took.count();
}

}  // namespace balance
