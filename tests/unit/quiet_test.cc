// SPDX-License-Identifier: MIT
#include "balance/ctl/quiet.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

// A look every 50 ms at a host that reports every 250 ms.
class Drained : public testing::Test {
 protected:
  Drained() {
    host_.reports = true;
    host_.standing.running = 0;
    host_.standing.waiting = 0;
    host_.standing.map_running = 0;
  }
  // What goes on at the last look of so many seconds, or "" as soon as nothing does.
  std::string after(double seconds) {
    const double end = now_ + seconds;
    for (; now_ < end; now_ += 0.05) {
      if (now_ - reported_ >= 0.25) reported_ = now_;
      host_.standing.reported = at(reported_);
      const std::optional<std::string> what = quiet_.look(host_, at(now_));
      if (!what) return "";
      what_ = *what;
    }
    return what_;
  }
  HostAtWork host_;
  double now_ = 100, reported_ = 0;
  Quiet quiet_{Seconds{30}, at(100)};
  std::string what_;
};

TEST_F(Drained, IsQuietTwoSecondsAfterTheLastDispatch) {
  EXPECT_EQ(after(1.01), "nothing was sent to it for 1.0s; wanted 2s");
  after(0.69);
  EXPECT_EQ(after(0.3), "");
  EXPECT_NEAR(now_, 102, 0.06);
}

// It said that a request had been sent a second ago, to a host that had never got one.
TEST_F(Drained, NamesNoRequestThatItHasNotSeen) {
  host_.dispatches = 12;  // of the time before
  EXPECT_EQ(after(1.5).substr(0, 27), "nothing was sent to it for ");
  host_.dispatches = 13;
  EXPECT_EQ(after(1.5).substr(0, 26), "a request was sent to it 1");
}

TEST_F(Drained, StartsAnewWithEveryDispatch) {
  after(1.5);
  host_.dispatches = 7;
  EXPECT_EQ(after(1.9).substr(0, 26), "a request was sent to it 1");
  EXPECT_EQ(after(1), "");
  EXPECT_NEAR(now_, 103.5, 0.1);
}

TEST_F(Drained, WaitsForRelayedRequestsInFlight) {
  host_.in_flight = 2;
  EXPECT_EQ(after(60), "2 relayed requests are in flight");
  host_.in_flight = 1;
  EXPECT_EQ(after(60), "1 relayed request is in flight");
  host_.in_flight = 0;
  EXPECT_EQ(after(0.1), "");
}

TEST_F(Drained, WaitsForMapProcessesThroughFourReports) {
  host_.standing.map_running = 1;
  EXPECT_EQ(after(40), "1 map process is at work");
  host_.standing.map_running = 0;
  EXPECT_EQ(after(0.7).substr(0, 20), "it has been idle for");
  host_.standing.map_running = 3;
  EXPECT_EQ(after(0.3), "3 map processes are at work");
  host_.standing.map_running = 0;
  EXPECT_EQ(after(2), "");
}

TEST_F(Drained, ABatchJobIsNoMapProcess) {
  host_.standing.running = 5;
  after(1.9);
  EXPECT_EQ(after(0.3), "");
}

TEST_F(Drained, WithoutACountOfMapProcessesAllTasksCount) {
  host_.standing.map_running.reset();
  host_.standing.running = 2;
  EXPECT_EQ(after(40), "2 tasks are runnable");
  host_.standing.running = 0;
  EXPECT_EQ(after(2), "");
}

TEST_F(Drained, WaitsForTheQueue) {
  host_.standing.waiting = 4;
  EXPECT_EQ(after(40), "4 requests wait for a map process");
  host_.standing.waiting = 0;
  EXPECT_EQ(after(2), "");
}

TEST_F(Drained, OneReportSeenManyTimesIsOneReport) {
  after(1.9);
  reported_ = 1e9;  // no other one comes
  EXPECT_NE(after(0.5).find("of 4 reports"), 0U);
  Quiet quiet{Seconds{30}, at(0)};
  host_.standing.reported = at(5);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(quiet.look(host_, at(5 + i * 0.1)));
}

TEST_F(Drained, ThatDoesNotReportIsQuietAfterDrainWait) {
  host_.reports = false;
  EXPECT_EQ(after(10), "it does not report what it does; 20s of drain-wait are left");
  EXPECT_EQ(after(30), "");
  EXPECT_NEAR(now_, 130, 0.1);
}

TEST_F(Drained, ThatTellsLoadAveragesAloneDoesNotReportWhatItDoes) {
  host_.standing.map_running.reset();
  host_.standing.running.reset();
  EXPECT_EQ(after(10).substr(0, 31), "it does not report what it does");
  EXPECT_EQ(after(30), "");
}

}  // namespace
}  // namespace balance
