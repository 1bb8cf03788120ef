// SPDX-License-Identifier: MIT
// How relayed requests ended on one host lately, and whether it is therefore left alone for a moment: a failed
// connection takes it out at once; a time-out, 502, 503, 504 or a failure of its MapServer the third time within 10 s.
// Out means 5 s; then it is tried again. Floor 2: values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "balance/ground/retry.h"
#include "balance/pool/standing.h"

namespace balance {

inline constexpr Seconds kOutFor{5}, kFailuresWithin{10};

// The last failures. Packs into one word of the table.
struct Outcomes {
  Instant last = base::kNever;      // the last failure that counted; kNever: none
  Instant previous = base::kNever;  // the one before, if it was within kFailuresWithin of it
  Relayed end = Relayed::fine;      // of the last one
  bool took_out = false;            // the last one took the host out
};
std::uint64_t packed(const Outcomes& outcomes);  // 0 for none; ticks of 10 ms
Outcomes outcomes_of(std::uint64_t word);        // garbage reads as some sane value

// One more end. A fine one changes nothing; failures while the host is out change nothing either, but for a failed
// connection, which takes it out anew.
Outcomes with_end(const Outcomes& before, Relayed end, Instant now);
bool is_out(const Outcomes& outcomes, Instant now);
std::string cause_of(const Outcomes& outcomes);  // 'relayed requests: no connection'

// A host's tier, with what relayed requests say of it: one that is out is chosen last of all, and a draining one not
// even by its own clients.
Tier tier_with(Tier tier, const Outcomes& outcomes, Instant now);

}  // namespace balance
