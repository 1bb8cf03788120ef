// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "loadprobe/order.h"

namespace loadprobe {
namespace {

TEST(Order, NoFileIsServing) { EXPECT_EQ(parse_order(std::nullopt), (Order{Duty::serving, ""})); }

TEST(Order, AnyFileIsDrainingForItsText) {
  EXPECT_EQ(parse_order("kernel update\n"), (Order{Duty::draining, "kernel update"}));
  EXPECT_EQ(parse_order(""), (Order{Duty::draining, ""}));
  EXPECT_EQ(parse_order("\n"), (Order{Duty::draining, ""}));
}

TEST(Order, AFirstWordOffTakesTheHostOut) {
  EXPECT_EQ(parse_order("off: new disks\n"), (Order{Duty::off, "new disks"}));
  EXPECT_EQ(parse_order("off:new disks"), (Order{Duty::off, "new disks"}));
  EXPECT_EQ(parse_order("off\n"), (Order{Duty::off, ""}));
  EXPECT_EQ(parse_order("off:"), (Order{Duty::off, ""}));
}

TEST(Order, AReasonThatOnlyBeginsLikeOffIsDraining) {
  EXPECT_EQ(parse_order("off duty"), (Order{Duty::draining, "off duty"}));
  EXPECT_EQ(parse_order("office move"), (Order{Duty::draining, "office move"}));
}

TEST(Order, TheReasonIsPrintableAndBounded) {
  EXPECT_EQ(parse_order("a\x1B\nb"), (Order{Duty::draining, "a? b"}));
  EXPECT_EQ(parse_order(std::string(1000, 'x')), (Order{Duty::draining, std::string(200, 'x')}));
}

}  // namespace
}  // namespace loadprobe
