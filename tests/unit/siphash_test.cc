// SPDX-License-Identifier: MIT
#include "balance/ground/siphash.h"

#include <gtest/gtest.h>

#include <string>

namespace balance {
namespace {

// The vectors of the paper and its reference implementation: key 00 01 ... 0f, input 00 01 ... of so many bytes.
TEST(Siphash, IsThatOfThePaper) {
  constexpr SipKey kKey{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  std::string input;
  for (char c = 0; c < 15; ++c) input.push_back(c);
  EXPECT_EQ(siphash(kKey, ""), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(siphash(kKey, input.substr(0, 1)), 0x74f839c593dc67fdU);
  EXPECT_EQ(siphash(kKey, input.substr(0, 8)), 0x93f5f5799a932462U);
  EXPECT_EQ(siphash(kKey, input), 0xa129ca6149be45e5U);
}

}  // namespace
}  // namespace balance
