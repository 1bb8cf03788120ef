// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "loadprobe/dispatch_book.h"

namespace loadprobe {
namespace {

base::Instant at(double seconds) { return base::Instant{base::Seconds{seconds}}; }

TEST(DispatchBook, ABalancerAddsNothingTheFirstTime) {
  DispatchBook book;
  book.tell(1, 1000, at(0));
  EXPECT_EQ(book.total(), 0U);
}

TEST(DispatchBook, ThenItAddsTheDifference) {
  DispatchBook book;
  book.tell(1, 1000, at(0));
  book.tell(1, 1005, at(1));
  book.tell(1, 1005, at(2));
  book.tell(1, 1008, at(3));
  EXPECT_EQ(book.total(), 8U);
}

TEST(DispatchBook, BalancersAreToldApart) {
  DispatchBook book;
  book.tell(1, 10, at(0));
  book.tell(2, 500, at(0));
  book.tell(1, 12, at(1));
  book.tell(2, 503, at(1));
  EXPECT_EQ(book.total(), 5U);
}

TEST(DispatchBook, ASmallerCountIsOfABalancerThatBeganAnew) {
  DispatchBook book;
  book.tell(1, 1000, at(0));
  book.tell(1, 4, at(1));
  book.tell(1, 6, at(2));
  EXPECT_EQ(book.total(), 6U);
}

TEST(DispatchBook, ForgetsAfterAMinuteOfSilenceWithoutChangingTheTotal) {
  DispatchBook book;
  book.tell(1, 10, at(0));
  book.tell(1, 15, at(60));
  EXPECT_EQ(book.total(), 5U);
  book.tell(1, 20, at(120.5));
  EXPECT_EQ(book.total(), 5U);
  book.tell(1, 21, at(121));
  EXPECT_EQ(book.total(), 6U);
}

TEST(DispatchBook, RemembersSixtyFourAndNoMore) {
  DispatchBook book;
  for (std::uint64_t id = 0; id < 100; ++id) book.tell(id, 10, at(0));
  EXPECT_EQ(book.remembered(), 64U);
  for (std::uint64_t id = 0; id < 100; ++id) book.tell(id, 11, at(1));
  EXPECT_EQ(book.total(), 64U);
}

TEST(DispatchBook, ALateBalancerGetsTheRoomOfASilentOne) {
  DispatchBook book;
  for (std::uint64_t id = 0; id < 64; ++id) book.tell(id, 10, at(0));
  book.tell(99, 10, at(30));
  book.tell(99, 10, at(61));
  EXPECT_EQ(book.remembered(), 1U);
  book.tell(99, 12, at(62));
  EXPECT_EQ(book.total(), 2U);
}

// Any neighbour that may ask could make a balancer believe that it sends a sixty-fourth of all requests.
TEST(DispatchBook, AStepThatNoBalancerCanHaveMadeAddsNothing) {
  DispatchBook book;
  book.tell(1, 0, at(0));
  book.tell(1, 1ULL << 63, at(1));
  EXPECT_EQ(book.total(), 0U);
  book.tell(1, (1ULL << 63) + 5, at(2));
  EXPECT_EQ(book.total(), 5U);
}

TEST(BalancerId, IsSixteenHexadecimalDigitsInLowerCase) {
  EXPECT_EQ(parse_balancer_id("0123456789abcdef"), 0x0123456789abcdefULL);
  EXPECT_EQ(parse_balancer_id("ffffffffffffffff"), ~0ULL);
  for (const char* bad :
       {"", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0x23456789abcdef", "0123456789abcdeg"}) {
    EXPECT_FALSE(parse_balancer_id(bad)) << bad;
  }
}

}  // namespace
}  // namespace loadprobe
