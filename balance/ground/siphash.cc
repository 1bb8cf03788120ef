// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/siphash.h"

#include <bit>
#include <cstddef>

namespace balance {
namespace {

struct State {
  std::uint64_t a, b, c, d;  // v0 to v3 of the paper

  void round() {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32);
    c += b;
    a += d;
    b = std::rotl(b, 17) ^ c;
    d = std::rotl(d, 21) ^ a;
    c = std::rotl(c, 32);
  }
  void take(std::uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  }
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

}  // namespace

std::uint64_t siphash(const SipKey& key, std::string_view text) {
  constexpr std::size_t kWordBytes = 8;
  State state{key.first ^ 0x736f6d6570736575U, key.second ^ 0x646f72616e646f6dU, key.first ^ 0x6c7967656e657261U,
              key.second ^ 0x7465646279746573U};
  const std::size_t whole = text.size() / kWordBytes * kWordBytes;
  for (std::size_t i = 0; i < whole; i += kWordBytes) state.take(little_endian(text.substr(i, kWordBytes)));
  state.take(little_endian(text.substr(whole)) | std::uint64_t{text.size() & 0xFF} << 56);
  state.c ^= 0xFF;
  for (int i = 0; i < 4; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace balance
