// SPDX-License-Identifier: MIT
// Floor 2: pure functions, any thread.
#include "balance/pool/rendezvous.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "balance/pool/draw.h"

namespace balance {
namespace {

double mean_cost(const std::vector<Contender>& contenders) {
  double requests = 0, capacity = 0;
  for (const Contender& one : contenders) {
    requests += one.cost * one.cores * one.weight;
    capacity += one.cores * one.weight;
  }
  return requests / capacity;
}

bool is_over(const Contender& one, double mean) {
  return (one.cost - kBoundFactor * mean) * one.cores * one.weight > one.cores / 2 + kBoundSlack;
}

}  // namespace

double rendezvous(std::uint64_t client, const Contender& contender) {
  // Two steps, so that neither clients nor hosts that differ in one bit draw numbers alike.
  Draw draw{client ^ Draw{contender.identity}.next()};
  const double fraction = 1 - draw.fraction();  // (0, 1]
  return -contender.cores * contender.weight / std::log(std::min(fraction, 1 - 0x1p-53));
}

std::size_t first_within_bound(std::uint64_t client, const std::vector<Contender>& contenders) {
  assert(!contenders.empty());
  std::vector<double> numbers;
  const double mean = mean_cost(contenders);
  const Contender* first = nullptr;
  const Contender* within = nullptr;
  double first_number = 0, within_number = 0;
  for (const Contender& one : contenders) {
    const double number = rendezvous(client, one);
    if (first == nullptr || number > first_number) {
      first = &one;
      first_number = number;
    }
    if (!is_over(one, mean) && (within == nullptr || number > within_number)) {
      within = &one;
      within_number = number;
    }
  }
  return within != nullptr ? within->index : first->index;
}

}  // namespace balance
