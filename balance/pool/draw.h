// SPDX-License-Identifier: MIT
// The numbers chance gives one request: a small generator (splitmix64, Steele, Lea, Flood 2014) that is a value, seeded
// from outside. Floor 2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace balance {

struct Draw {
  std::uint64_t state = 0;

  std::uint64_t next() {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(fraction() * static_cast<double>(n));
  }  // [0, n), n > 0
};

}  // namespace balance
