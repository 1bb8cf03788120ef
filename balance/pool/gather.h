// SPDX-License-Identifier: MIT
// Which hosts a choice looks at: all of a small pool, a few drawn of a large one. Reading the table is the caller's
// business (a callable), so this stays on floor 2. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "balance/pool/draw.h"
#include "balance/pool/snapshot.h"

namespace balance {

// What to look at.
struct Field {
  std::size_t hosts = 0;                             // in the configuration
  double greatest_capacity = 1;                      // PoolStanding's: the greatest cores x weight of a usable host
  std::array<std::optional<std::size_t>, 2> always;  // looked at whatever is drawn
  std::size_t drawn = kDrawn;                        // of a large pool
};

inline constexpr std::size_t kTriesForOne = 32;

// Looks at every host.
template <class Read>
std::vector<Candidate> gather_all(std::size_t hosts, Read& read) {
  std::vector<Candidate> candidates;
  candidates.reserve(hosts);
  for (std::size_t i = 0; i < hosts; ++i) {
    if (std::optional<Candidate> candidate = read(i)) candidates.push_back(*candidate);
  }
  return candidates;
}

// Up to kScanned hosts, or as many as are to be drawn: all that `read` gives. Above: field.drawn different usable ones,
// drawn in proportion to cores x weight (an index at random, accepted with the probability of its share in the
// greatest), and those that are always looked at; where a bounded number of tries does not find that many, all after
// all. In a by-weight or degraded pool the same. `read(std::size_t) -> std::optional<Candidate>`: nothing where this
// request may not go to that host.
template <class Read>
std::vector<Candidate> gather(const Field& field, Draw& draw, Read read) {
  if (field.hosts <= std::max(kScanned, field.drawn)) return gather_all(field.hosts, read);
  std::vector<Candidate> drawn;
  drawn.reserve(field.drawn + static_cast<std::size_t>(field.always[0].has_value() + field.always[1].has_value()));
  for (std::size_t tries = 0; tries < kTriesForOne * field.drawn && drawn.size() < field.drawn; ++tries) {
    const std::size_t index = draw.below(field.hosts);
    bool seen = false;
    for (const Candidate& other : drawn) seen = seen || other.host == index;
    if (seen) continue;
    std::optional<Candidate> candidate = read(index);
    if (!candidate || candidate->tier != Tier::usable) continue;
    if (draw.fraction() * field.greatest_capacity > candidate->cores * candidate->weight) continue;
    drawn.push_back(*candidate);
  }
  if (drawn.size() < field.drawn) return gather_all(field.hosts, read);
  for (const std::optional<std::size_t>& wanted : field.always) {
    if (!wanted || *wanted >= field.hosts) continue;
    if (std::ranges::find(drawn, *wanted, &Candidate::host) != drawn.end()) continue;
    if (std::optional<Candidate> candidate = read(*wanted)) drawn.push_back(*candidate);
  }
  return drawn;
}

}  // namespace balance
