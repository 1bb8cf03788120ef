// SPDX-License-Identifier: MIT
// What balancers told of their dispatches to this host, added up. So balancers that do not know of each other learn
// from the total which share of the requests is their own.
// Floor 1: a value; time comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "loadprobe/base/time.h"

namespace loadprobe {

// '0123456789abcdef' in lower case, 16 digits.
std::optional<std::uint64_t> parse_balancer_id(std::string_view text);

class DispatchBook {
 public:
  static constexpr std::size_t kMostBalancers = 64;
  static constexpr base::Seconds kMemory{60};

  // Takes a balancer's count of its dispatches to this host. The difference to its last count goes into the total;
  // a smaller count is that of a balancer that has begun anew, and goes in as it is. A balancer that is not remembered
  // adds nothing: how much of its count is in the total already, nobody knows. It is forgotten after a minute of
  // silence. With kMostBalancers remembered another one has to wait until one is forgotten.
  // REQUIRES: `now` does not go back.
  void tell(std::uint64_t balancer, std::uint64_t count, base::Instant now);

  // Only grows.
  std::uint64_t total() const { return total_; }
  std::size_t remembered() const { return pages_.size(); }

 private:
  struct Page {
    std::uint64_t balancer = 0;
    std::uint64_t count = 0;
    base::Instant told = base::kNever;
  };
  std::vector<Page> pages_;
  std::uint64_t total_ = 0;
};

}  // namespace loadprobe
