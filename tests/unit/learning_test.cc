// SPDX-License-Identifier: MIT
#include "balance/pool/learning.h"

#include <gtest/gtest.h>

#include <cmath>

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

Report counting(double requests, double running, double completed, double cpu_seconds) {
  Report report;
  report.requests = requests;
  report.running = running;
  report.completed = completed;
  report.cpu_seconds = cpu_seconds;
  return report;
}

Report watching(double running, double cpu_seconds) {
  Report report;
  report.running = running;
  report.cpu_seconds = cpu_seconds;
  return report;
}

Report loaded(double load1) {
  Report report;
  report.load1 = load1;
  return report;
}

Hearing hearing_of(std::uint64_t own, std::size_t host = 0) {
  Hearing hearing;
  hearing.host = host;
  hearing.cores = 4;
  hearing.own_dispatches = own;
  return hearing;
}

TEST(Learning, BeginsWithAFifthOfASecondAndTheShareOfThePeers) {
  EXPECT_DOUBLE_EQ(empty_memory(3, 1).mean_service_seconds(), 0.2);
  EXPECT_EQ(empty_memory(3, 1).share, 1);
  EXPECT_EQ(empty_memory(3, 4).share, 0.25);
  EXPECT_EQ(empty_memory(3, 0).share, 1);
  EXPECT_EQ(empty_memory(3, 1000).share, 1.0 / 64);
}

TEST(Learning, TakesThePredictionFromTheRequestsThatAHostCounts) {
  PoolMemory memory = empty_memory(1, 1);
  EXPECT_EQ(learn(memory, counting(3, 5, 0, 0), hearing_of(0), at(1)).requests, 3);
}

TEST(Learning, TakesThePredictionFromRunningTasksAndWaitingRequests) {
  PoolMemory memory = empty_memory(1, 1);
  Report report = watching(5, 0);
  EXPECT_EQ(learn(memory, report, hearing_of(0), at(1)).requests, 5);
  report.waiting = 12;
  EXPECT_EQ(learn(memory, report, hearing_of(0), at(2)).requests, 17);
}

TEST(Learning, AddsDispatchesThatTheReportCannotShow) {
  PoolMemory memory = empty_memory(1, 2);
  Hearing hearing = hearing_of(10);
  hearing.unseen = 3;
  EXPECT_EQ(learn(memory, watching(5, 0), hearing, at(1)).requests, 11);  // 5 + 3 / (1/2)
}

TEST(Learning, SmoothsTheBackgroundAfterItsFirstSight) {
  PoolMemory memory = empty_memory(1, 1);
  EXPECT_DOUBLE_EQ(learn(memory, counting(2, 4, 0, 0), hearing_of(0), at(1)).background, 2);
  EXPECT_DOUBLE_EQ(learn(memory, counting(2, 2, 0, 0), hearing_of(0), at(2)).background, 1.4);
  EXPECT_DOUBLE_EQ(learn(memory, counting(2, 3, 0, 0), hearing_of(0), at(3)).background, 1.28);
}

TEST(Learning, HasNoNegativeBackground) {
  PoolMemory memory = empty_memory(1, 1);
  EXPECT_EQ(learn(memory, counting(6, 4, 0, 0), hearing_of(0), at(1)).background, 0);
}

TEST(Learning, TellsNoBackgroundWhereRequestsAreNotCounted) {
  PoolMemory memory = empty_memory(1, 1);
  EXPECT_EQ(learn(memory, watching(9, 0), hearing_of(0), at(1)).background, 0);
}

TEST(Learning, LearnsAHostsMeanFromCpuSecondsOverCompletedRequests) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, counting(0, 0, 1000, 500), hearing_of(0), at(1));
  const Learned learned = learn(memory, counting(0, 0, 1200, 600), hearing_of(0), at(1));
  // M = (100 + 4)/(200 + 20), m = (100 + 200 M)/(200 + 200)
  EXPECT_NEAR(memory.mean_service_seconds(), 104.0 / 220, 1e-12);
  EXPECT_NEAR(learned.mean_service_seconds, (100 + 200 * 104.0 / 220) / 400, 1e-12);
}

TEST(Learning, TakesOwnDispatchesOverTheShareAsCompletedWhereNobodyCounts) {
  PoolMemory memory = empty_memory(1, 2);
  learn(memory, watching(0, 500), hearing_of(0), at(1));
  learn(memory, watching(0, 600), hearing_of(100), at(1));
  EXPECT_NEAR(memory.mean_service_seconds(), 104.0 / 220, 1e-12);
}

TEST(Learning, FadesWithTimeConstantsOf120And60Seconds) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, counting(0, 0, 0, 0), hearing_of(0), at(0));
  learn(memory, counting(0, 0, 100, 50), hearing_of(0), at(0));
  learn(memory, counting(0, 0, 100, 50), hearing_of(0), at(60));
  EXPECT_NEAR(memory.hosts[0].completed, 100 * std::exp(-0.5), 1e-9);
  EXPECT_NEAR(memory.completed, 100 * std::exp(-1), 1e-9);
}

TEST(Learning, RemembersNoMoreThan2000RequestsOfAHost) {
  PoolMemory memory = empty_memory(1, 1);
  Hearing hearing = hearing_of(0);
  hearing.cores = 32;
  learn(memory, counting(0, 0, 0, 0), hearing, at(0));
  learn(memory, counting(0, 0, 8000, 1600), hearing, at(0));
  EXPECT_DOUBLE_EQ(memory.hosts[0].completed, 2000);
  EXPECT_DOUBLE_EQ(memory.hosts[0].busy_seconds, 400);
}

TEST(Learning, CountsAFallingCounterAsNothing) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, counting(0, 0, 1000, 500), hearing_of(0), at(1));
  learn(memory, counting(0, 0, 10, 5), hearing_of(0), at(1));
  EXPECT_DOUBLE_EQ(memory.mean_service_seconds(), 0.2);
  learn(memory, counting(0, 0, 210, 105), hearing_of(0), at(1));
  EXPECT_NEAR(memory.mean_service_seconds(), 104.0 / 220, 1e-12);
}

TEST(Learning, ForgetsCountersWhenAHostIsBack) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, counting(0, 4, 0, 0), hearing_of(0), at(1));
  Hearing back = hearing_of(0);
  back.back = true;
  const Learned learned = learn(memory, counting(0, 1, 9000, 9000), back, at(1));
  EXPECT_DOUBLE_EQ(memory.mean_service_seconds(), 0.2);
  EXPECT_EQ(learned.background, 1);  // seen for the first time again
}

TEST(Learning, DoesNotTakeThePausesOfACounterForWork) {
  // The CPU counter is missing once: what it rose by in between belongs to more than one report.
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, watching(0, 500), hearing_of(0), at(1));
  Report without = watching(0, 0);
  without.cpu_seconds.reset();
  learn(memory, without, hearing_of(0), at(1));
  learn(memory, watching(0, 600), hearing_of(100), at(1));
  EXPECT_DOUBLE_EQ(memory.mean_service_seconds(), 0.2);
}

// A returned host had burnt a second of CPU in starting its servers and nothing on requests: it looked slow, so an idle
// pool sent it none, so nothing corrected that for minutes.
TEST(Learning, IsNotTaughtByTheStartUpOfAHostThatHasNoRequests) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, watching(0, 0), hearing_of(0), at(1));
  const Learned learned = learn(memory, watching(2, 1.5), hearing_of(0), at(2));
  EXPECT_DOUBLE_EQ(learned.mean_service_seconds, 0.2);
  EXPECT_EQ(memory.hosts[0].busy_seconds, 0);
}

TEST(Learning, CountsTheWorkOfALongRequestForFiveSeconds) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, watching(0, 0), hearing_of(0), at(1));
  learn(memory, watching(1, 1), hearing_of(1), at(2));
  learn(memory, watching(1, 5), hearing_of(1), at(6));
  EXPECT_NEAR(memory.hosts[0].busy_seconds, 5, 0.1);
  learn(memory, watching(1, 9), hearing_of(1), at(10));
  EXPECT_NEAR(memory.hosts[0].busy_seconds, 5, 0.3);
}

TEST(Learning, TakesARequestOfAnotherBalancerForOne) {
  PoolMemory memory = empty_memory(1, 2);
  Report report = watching(0, 0);
  report.dispatches = 7;
  learn(memory, report, hearing_of(0), at(1));
  report = watching(1, 0.5);
  report.dispatches = 8;
  learn(memory, report, hearing_of(0), at(2));
  EXPECT_NEAR(memory.hosts[0].busy_seconds, 0.5, 1e-9);
}

// One absurd report left the pool's mean service time outside what the table can hold, and so the pool without a
// standing.
TEST(Learning, IsTaughtNothingByAStepThatNoHostCanHaveMade) {
  PoolMemory memory = empty_memory(2, 1);
  learn(memory, counting(0, 0, 0, 0), hearing_of(0), at(1));
  learn(memory, counting(0, 0, 9e18, 1), hearing_of(5), at(1.25));
  EXPECT_DOUBLE_EQ(memory.mean_service_seconds(), 0.2);
  learn(memory, counting(0, 0, 9e18, 9e10), hearing_of(9), at(1.5));
  EXPECT_DOUBLE_EQ(memory.mean_service_seconds(), 0.2);
}

TEST(Share, IsOneUntilTwentyArrivalsAreKnown) {
  PoolMemory memory = empty_memory(1, 4);
  Report report = watching(0, 0);
  report.dispatches = 100;
  learn(memory, report, hearing_of(0), at(1));
  EXPECT_EQ(memory.share, 0.25);
  report.dispatches = 119;
  learn(memory, report, hearing_of(5), at(1));
  EXPECT_EQ(memory.share, 1);
  report.dispatches = 140;
  learn(memory, report, hearing_of(10), at(1));
  EXPECT_DOUBLE_EQ(memory.share, 0.25);
}

TEST(Share, IsOneAboveNineTenths) {
  PoolMemory memory = empty_memory(1, 1);
  Report report = watching(0, 0);
  report.dispatches = 0;
  learn(memory, report, hearing_of(0), at(1));
  report.dispatches = 100;
  learn(memory, report, hearing_of(91), at(1));
  EXPECT_EQ(memory.share, 1);
}

TEST(Share, IsAtLeastA64th) {
  PoolMemory memory = empty_memory(1, 1);
  Report report = watching(0, 0);
  report.dispatches = 0;
  learn(memory, report, hearing_of(0), at(1));
  report.dispatches = 100000;
  learn(memory, report, hearing_of(1), at(1));
  EXPECT_EQ(memory.share, 1.0 / 64);
}

TEST(Share, ForgetsADeadBalancerWithinAMinute) {
  PoolMemory memory = empty_memory(1, 1);
  Report report = watching(0, 0);
  report.dispatches = 0;
  learn(memory, report, hearing_of(0), at(0));
  std::uint64_t own = 0;
  for (int second = 1; second <= 160; ++second) {
    own += 50;
    *report.dispatches += second <= 100 ? 100 : 50;
    learn(memory, report, hearing_of(own), at(second));
    if (second == 100) {
      EXPECT_NEAR(memory.share, 0.5, 0.01);
    }
  }
  EXPECT_EQ(memory.share, 1);
}

TEST(Share, StaysThatOfThePeersWhereNoHostCountsDispatches) {
  PoolMemory memory = empty_memory(1, 2);
  for (int second = 0; second < 100; ++second) {
    learn(memory, watching(1, second), hearing_of(static_cast<std::uint64_t>(second) * 10), at(second));
  }
  EXPECT_EQ(memory.share, 0.5);
}

TEST(LoadAverage, TellsTheRunQueueWhenItMoves) {
  PoolMemory memory = empty_memory(1, 1);
  EXPECT_EQ(learn(memory, loaded(2), hearing_of(0), at(1)).requests, std::nullopt);
  EXPECT_EQ(learn(memory, loaded(2), hearing_of(0), at(2)).requests, std::nullopt);
  // 2 e^(-5/60) + 6 (1 - e^(-5/60)) = 2.3198
  const Learned learned = learn(memory, loaded(2.3198), hearing_of(0), at(3));
  ASSERT_TRUE(learned.requests);
  EXPECT_NEAR(*learned.requests, 6, 0.01);
}

TEST(LoadAverage, ThatMovedTwiceTellsTheMeanOfBoth) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, loaded(2), hearing_of(0), at(0));
  // 2 e^(-10/60) + 6 (1 - e^(-10/60)) = 2.6141
  const Learned learned = learn(memory, loaded(2.6141), hearing_of(0), at(10));
  ASSERT_TRUE(learned.requests);
  EXPECT_NEAR(*learned.requests, 6, 0.01);
}

TEST(LoadAverage, NeverTellsANegativeRunQueue) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, loaded(9), hearing_of(0), at(1));
  EXPECT_EQ(learn(memory, loaded(1), hearing_of(0), at(2)).requests, 0);
}

TEST(LoadAverage, OfBeforeAnAbsenceIsForgotten) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, loaded(9), hearing_of(0), at(1));
  Hearing back = hearing_of(0);
  back.back = true;
  EXPECT_EQ(learn(memory, loaded(1), back, at(2)).requests, std::nullopt);
}

TEST(LoadAverage, HasBusyTimeFromThePrediction) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, loaded(1), hearing_of(0), at(0));
  Hearing hearing = hearing_of(10);
  hearing.predicted = 7;  // on 4 cores
  learn(memory, loaded(1), hearing, at(1));
  EXPECT_NEAR(memory.mean_service_seconds(), (4 + 4.0) / (10 + 20), 1e-12);
}

TEST(LoadAverage, DoesNotLetThePredictionConfirmItself) {
  PoolMemory memory = empty_memory(1, 1);
  learn(memory, loaded(1), hearing_of(0), at(0));
  learn(memory, loaded(1.2399), hearing_of(0), at(0));  // a run queue of 4
  Hearing hearing = hearing_of(10);
  hearing.predicted = 0;
  learn(memory, loaded(1.2399), hearing, at(1));
  EXPECT_NEAR(memory.busy_seconds, 0.8, 0.01);  // a fifth of 4 cores for 1 s
}

// Three hosts with 4 cores at T = 0.25 s; on the first `batch` tasks run all the time, using CPU that no request uses.
PoolMemory after_three_minutes(double batch, Seconds interval = Seconds{0.25}) {
  PoolMemory memory = empty_memory(3, 1);
  std::uint64_t own = 0;
  double time = 0;
  while (time < 180) {
    time += interval.count();
    own += 1;
    for (std::size_t host = 0; host < 3; ++host) {
      Hearing hearing = hearing_of(own, host);
      hearing.interval = interval;
      const double jobs = host == 0 ? batch : 0;
      const double requests = own % 8 == 0 ? 0 : 2;  // idle now and then
      const double used = 0.2 * static_cast<double>(own) + jobs * time;
      learn(memory, watching(requests + jobs, used), hearing, at(time));
    }
  }
  return memory;
}

TEST(BatchJob, LooksLikeNoSlowHostWhereReportsAreFrequent) {
  const PoolMemory memory = after_three_minutes(2);
  EXPECT_EQ(memory.hosts[0].completed, 0);  // so m is M
  EXPECT_GT(memory.hosts[1].completed, 100);
  EXPECT_DOUBLE_EQ(*memory.hosts[0].floor, 0.5);
  EXPECT_DOUBLE_EQ(*memory.hosts[1].floor, 0);
  EXPECT_NEAR(memory.mean_service_seconds(), 0.2, 0.05);
}

TEST(BatchJob, OfAQuarterOfTheCoresIsNotToldFromLoad) { EXPECT_GT(after_three_minutes(1).hosts[0].completed, 100); }

TEST(BatchJob, IsNotLookedForWhereReportsAreRare) {
  const PoolMemory memory = after_three_minutes(2, Seconds{2});
  EXPECT_GT(memory.hosts[0].completed, 10);
  EXPECT_EQ(memory.hosts[0].floor, std::nullopt);
}

TEST(BatchJob, EndsWhenTheFloorFalls) {
  PoolMemory memory = after_three_minutes(2);
  Hearing hearing = hearing_of(100000);
  learn(memory, watching(0, 1e6), hearing, at(180.25));
  hearing.own_dispatches += 100;
  learn(memory, watching(1, 1e6 + 20), hearing, at(180.5));
  EXPECT_GT(memory.hosts[0].completed, 0);
}

TEST(Learning, WhereAllIsRelayedWhatElseRunsIsKnownWithoutTheHostsCounting) {
  PoolMemory memory = empty_memory(1, 1);
  Hearing hearing = hearing_of(0);
  hearing.relayed = 3;
  EXPECT_EQ(learn(memory, watching(5, 0), hearing, at(1)).background, 2);
  EXPECT_NEAR(learn(memory, watching(3, 0), hearing, at(2)).background, 1.4, 1e-9);
  EXPECT_NEAR(learn(memory, watching(1, 0), hearing, at(3)).background, 0.98, 1e-9);
  hearing.relayed.reset();
  EXPECT_EQ(learn(memory, watching(5, 0), hearing, at(4)).background, 0);
}

}  // namespace
}  // namespace balance
