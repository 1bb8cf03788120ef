// SPDX-License-Identifier: MIT
// SipHash-2-4, a keyed hash that cannot be guessed without its key (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast
// short-input PRF", INDOCRYPT 2012). Written from the paper. Floor 1: pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace balance {

struct SipKey {
  std::uint64_t first = 0, second = 0;
};

// 64 bits that are the same on every machine; any text, of any length.
std::uint64_t siphash(const SipKey& key, std::string_view text);

}  // namespace balance
