// SPDX-License-Identifier: MIT
// Standings and client entries as words of the table. Writing makes any value storable; reading accepts only what makes
// sense. Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "balance/pool/standing.h"
#include "balance/table/layout.h"

namespace balance {

using HostWords = std::array<std::uint64_t, layout::kHostWords>;
using PoolWords = std::array<std::uint64_t, layout::kPoolWords>;

inline constexpr std::size_t kMostCauseBytes = 111;

// The first words of a host; those of the cause stand behind them, and say nothing of a host that is well.
inline constexpr std::size_t kHostFigures = 12;
bool has_cause(const HostWords& words);

// The cause is cut after kMostCauseBytes, and what is not printable ASCII in it becomes '?'.
HostWords to_words(const Standing& standing);
PoolWords to_words(const PoolStanding& pool);
// Nothing for words that were never filled, unknown values of enumerations, numbers that are not finite or out of any
// sane range, and text that is not printable.
std::optional<Standing> standing_of(const HostWords& words);
std::optional<PoolStanding> pool_of(const PoolWords& words);

// A virtual time: 0 for bits that are none.
double sane_virtual_time(std::uint64_t bits);

// One client's entry: 32 bits of its hash, 12 of the host, 20 of the instant (eighths of a second, modulo 36 hours).
struct ClientEntry {
  std::uint32_t tag = 0;
  std::size_t host = 0;  // below 4096
  std::uint32_t seen = 0;
};
std::uint64_t packed(const ClientEntry& entry);
// Nothing for an empty word (0).
std::optional<ClientEntry> client_entry(std::uint64_t word);

std::size_t bucket_of(std::uint64_t client);
std::uint32_t tag_of(std::uint64_t client);  // never 0
std::uint32_t eighths_of(Instant instant);
std::uint32_t seconds_of(Instant instant);
// Age of an entry; 0 for one that another process wrote a moment "later" than now; otherwise half a turn reads as old.
Seconds age_of(const ClientEntry& entry, Instant now);

// A killer: 24 bits of the request's fingerprint, 12 for each of two hosts, 16 of the instant (seconds, modulo 18
// hours).
struct KillerEntry {
  std::uint32_t tag = 0;
  std::size_t first = 0, second = 0;  // below 4096
  std::uint32_t seen = 0;
};
std::uint64_t packed(const KillerEntry& entry);
// Nothing for an empty word (0).
std::optional<KillerEntry> killer_entry(std::uint64_t word);
std::uint32_t killer_tag_of(std::uint64_t request);  // never 0
Seconds age_of(const KillerEntry& entry, Instant now);

}  // namespace balance
