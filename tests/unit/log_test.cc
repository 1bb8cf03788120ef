// SPDX-License-Identifier: MIT
#include "loadprobe/base/log.h"

#include <gtest/gtest.h>

namespace base {
namespace {

std::string logged(std::string_view what, std::initializer_list<Field> fields) {
  testing::internal::CaptureStderr();
  log(Level::warning, what, fields);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, QuotesAndEscapesWhatIsNoPlainWord) {
  log_as("poolwatch");
  EXPECT_EQ(logged("host down", {{"host", "darwin"}, {"cause", "connection refused"}}),
            "poolwatch: warning: host down host=darwin cause=\"connection refused\"\n");
  EXPECT_EQ(logged("x", {{"a", ""}, {"b", "it's \"so\"\n"}}),
            "poolwatch: warning: x a=\"\" b=\"it's \\x22so\\x22\\x0A\"\n");
  EXPECT_EQ(logged("x", {{"at", "[::1]:80/a_b.c+d-50%"}}), "poolwatch: warning: x at=[::1]:80/a_b.c+d-50%\n");
}

TEST(Log, CutsAnEndlessValue) {
  log_as("p");
  EXPECT_EQ(logged("x", {{"a", std::string(5000, 'y')}}), "p: warning: x a=\"" + std::string(1000, 'y') + "...\"\n");
}

TEST(Log, WritesNothingBelowTheLeastLevel) {
  log_as("p", Level::error);
  EXPECT_EQ(logged("x", {}), "");
  log_as("");
}

}  // namespace
}  // namespace base
