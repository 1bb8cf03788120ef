// SPDX-License-Identifier: MIT
#include "loadprobe/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "loadprobe/base/fd.h"

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

TEST(Log, AnEndlessLineFitsAPipe) {
  log_as("p");
  const std::string value(1000, '\n');
  const std::string line = logged("x", {{"a", value}, {"b", value}});
  EXPECT_EQ(line.size(), 4096U);
  EXPECT_EQ(line.back(), '\n');
}

TEST(Log, DoesNotWaitForAReader) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const std::array<char, 4096> filling{};
  while (write(writer.get(), filling.data(), filling.size()) > 0) {
  }
  ASSERT_EQ(fcntl(writer.get(), F_SETFL, 0), 0);  // waits from now on
  const Fd before(dup(STDERR_FILENO));
  ASSERT_GE(dup2(writer.get(), STDERR_FILENO), 0);
  log(Level::warning, "x");
  EXPECT_GE(dup2(before.get(), STDERR_FILENO), 0);
  writer.close();
  std::string piece(filling.size(), 'x');
  std::string all;
  for (ssize_t got = 0; (got = read(reader.get(), piece.data(), piece.size())) > 0;) {
    all.append(piece, 0, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(all, std::string(all.size(), '\0'));
}

TEST(Log, WritesNothingBelowTheLeastLevel) {
  log_as("p", Level::error);
  EXPECT_EQ(logged("x", {}), "");
  log_as("");
}

}  // namespace
}  // namespace base
