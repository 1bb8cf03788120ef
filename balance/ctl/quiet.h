// SPDX-License-Identifier: MIT
// When a host that gets nothing new has finished what it had: what `balancectl drain --wait` waits for.
// Time and observations come in. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "balance/pool/standing.h"

namespace balance {

// The host at one look. Without a table all but `reports` is as it begins.
struct HostAtWork {
  std::uint64_t dispatches = 0;
  std::uint32_t in_flight = 0;  // relayed requests
  bool reports = false;         // it is probed, somebody watches, and its last report is fresh
  Standing standing;
};

class Quiet {
 public:
  static constexpr Seconds kSinceDispatch{2};
  static constexpr int kReports = 4;

  // From `began` on nothing new should come; what was sent before may still be under way.
  // `without_reports`: how long after the last dispatch a host that does not tell is believed to have finished.
  Quiet(Seconds without_reports, Instant began) : without_reports_(without_reports), dispatched_(began) {}

  // Nothing: it has finished. Else what still goes on. Quiet is a host to which nothing was sent for 2 s, with nothing
  // relayed in flight, and whose last 4 reports told of no request waiting and no map process runnable; where it tells
  // no such thing, one to which nothing was sent for `without_reports`.
  // REQUIRES: `now` does not go back.
  std::optional<std::string> look(const HostAtWork& host, Instant now);

 private:
  void hear(const Standing& standing);

  Seconds without_reports_;
  Instant dispatched_;         // the last one seen, or the beginning
  bool saw_dispatch_ = false;  // in this time
  std::optional<std::uint64_t> dispatches_;
  Instant reported_ = base::kNever;
  int quiet_reports_ = 0;
};

}  // namespace balance
