// SPDX-License-Identifier: MIT
// The bytes that go to and come from rpc.rstatd and the port mapper.
#include "balance/watch/rstat.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace balance {
namespace {

std::string words(std::initializer_list<std::uint32_t> list) {
  std::string out;
  for (const std::uint32_t word : list) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>((word >> shift) & 0xff));
  }
  return out;
}

// xid 7, REPLY, accepted, AUTH_NONE verifier of no bytes, success; 18 counters; loads 0.5, 1.25, 2; boot and current
// time; one more counter.
std::string stats_answer() {
  return words({7,          1,   0,          0, 0, 0,                                               //
                1,          2,   3,          4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,  //
                128,        320, 512,                                                               //
                1700000000, 5,   1700000100, 6,                                                     //
                99});
}

TEST(Rstat, CallsStatsOfVersionThree) {
  EXPECT_EQ(stats_call(0x01020304), words({0x01020304, 0, 2, 100001, 3, 1, 0, 0, 0, 0}));
}

TEST(Rstat, AsksThePortMapperForTheUdpPort) {
  EXPECT_EQ(getport_call(9), words({9, 0, 2, 100000, 2, 3, 0, 0, 0, 0, 100001, 3, 17, 0}));
}

TEST(Rstat, ReadsLoadsAndBootTime) {
  const auto report = parse_stats(stats_answer());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->load1, 0.5);
  EXPECT_EQ(report->load5, 1.25);
  EXPECT_EQ(report->load15, 2.0);
  EXPECT_EQ(report->boot_time, 1700000000.0);
}

TEST(Rstat, KnowsNeitherCoresNorTasksNorDispatches) {
  const auto report = parse_stats(stats_answer());
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->cores);
  EXPECT_FALSE(report->running);
  EXPECT_FALSE(report->dispatches);
  EXPECT_EQ(report->duty, loadprobe::Duty::serving);
}

TEST(Rstat, LeavesOutABootTimeOfZero) {
  std::string answer = stats_answer();
  answer.replace((6 + 21) * 4, 4, words({0}));
  const auto report = parse_stats(answer);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->boot_time);
}

TEST(Rstat, RefusesEveryTruncation) {
  const std::string answer = stats_answer();
  for (std::size_t length = 0; length < answer.size(); ++length) {
    EXPECT_FALSE(parse_stats(answer.substr(0, length))) << length;
  }
}

TEST(Rstat, PassesOverAVerifierAndItsPadding) {
  std::string answer = stats_answer();
  answer.replace(12, 8, words({1, 5}) + std::string("abcde\0\0\0", 8));
  const auto report = parse_stats(answer);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->load1, 0.5);
}

TEST(Rstat, RefusesAVerifierLongerThanTheProtocolAllows) {
  std::string answer = stats_answer();
  answer.replace(16, 4, words({0xffffffff}));
  const auto report = parse_stats(answer);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, "RPC answer: verifier of 4294967295 bytes");
}

TEST(Rstat, RefusesANegativeLoad) {
  std::string answer = stats_answer();
  answer.replace((6 + 18) * 4, 4, words({0xffffff00}));
  const auto report = parse_stats(answer);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, "load average is -256/256; wanted 0 to 1000000");
}

TEST(Rstat, RefusesAnAbsurdLoad) {
  std::string answer = stats_answer();
  answer.replace((6 + 20) * 4, 4, words({0x7fffffff}));
  EXPECT_FALSE(parse_stats(answer));
}

TEST(Rstat, SaysThatTheVersionIsNotServed) {
  const auto report = parse_stats(words({7, 1, 0, 0, 0, 2, 1, 2}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, "RPC answer: version 3 is not served there");
}

TEST(Rstat, SaysAnUnknownStatusByItsNumber) {
  const auto report = parse_stats(words({7, 1, 0, 0, 0, 77}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, "RPC answer: status 77");
}

TEST(Rstat, RefusesADeniedCall) {
  const auto report = parse_stats(words({7, 1, 1, 0, 2, 2}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, "RPC call denied");
}

TEST(Rstat, RefusesACallInTheAnswersPlace) { EXPECT_FALSE(parse_stats(stats_call(7))); }

TEST(Rstat, BelievesOnlyAnAnswerWithItsXid) {
  EXPECT_TRUE(answers(stats_answer(), 7));
  EXPECT_FALSE(answers(stats_answer(), 8));
  EXPECT_FALSE(answers(stats_call(7), 7));
  EXPECT_FALSE(answers("", 0));
  EXPECT_FALSE(answers(std::string(4, '\0'), 0));
}

TEST(Rstat, ReadsThePort) {
  const auto port = parse_getport(words({7, 1, 0, 0, 0, 0, 40001}));
  ASSERT_TRUE(port);
  EXPECT_EQ(*port, 40001);
}

TEST(Rstat, RefusesEveryTruncationOfThePort) {
  const std::string answer = words({7, 1, 0, 0, 0, 0, 40001});
  for (std::size_t length = 0; length < answer.size(); ++length) {
    EXPECT_FALSE(parse_getport(answer.substr(0, length))) << length;
  }
}

TEST(Rstat, SaysThatNobodyIsRegistered) {
  const auto port = parse_getport(words({7, 1, 0, 0, 0, 0, 0}));
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().fault, base::Fault::unavailable);
  EXPECT_EQ(port.error().what, "rstatd version 3 is not registered");
}

TEST(Rstat, RefusesAPortThatIsNone) {
  const auto port = parse_getport(words({7, 1, 0, 0, 0, 0, 65536}));
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().what, "port mapper says port 65536; wanted 1 to 65535");
}

TEST(Rstat, SurvivesEveryByteFlipped) {
  for (std::size_t i = 0; i < stats_answer().size(); ++i) {
    std::string answer = stats_answer();
    answer[i] = static_cast<char>(~answer[i]);
    if (const auto report = parse_stats(answer)) {
      EXPECT_GE(*report->load1, 0) << i;
      EXPECT_LE(*report->load1, 1e6) << i;
    }
  }
}

}  // namespace
}  // namespace balance
