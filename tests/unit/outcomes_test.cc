// SPDX-License-Identifier: MIT
#include "balance/pool/outcomes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

#include "balance/pool/draw.h"
#include "balance/pool/snapshot.h"

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

struct Event {
  Relayed end;
  double seconds;
};
// Through the table's word at each step.
Outcomes after(std::initializer_list<Event> events) {
  std::uint64_t word = 0;
  for (const Event& event : events) word = packed(with_end(outcomes_of(word), event.end, at(event.seconds)));
  return outcomes_of(word);
}

TEST(Outcomes, AHostThatNeverFailedIsNotOut) {
  EXPECT_FALSE(is_out(Outcomes{}, at(100)));
  EXPECT_FALSE(is_out(after({{Relayed::fine, 100}}), at(100)));
  EXPECT_EQ(packed(Outcomes{}), 0U);
}

TEST(Outcomes, AFailedConnectionTakesTheHostOutForFiveSeconds) {
  const Outcomes outcomes = after({{Relayed::no_connection, 100}});
  EXPECT_TRUE(is_out(outcomes, at(100)));
  EXPECT_TRUE(is_out(outcomes, at(104.9)));
  EXPECT_FALSE(is_out(outcomes, at(105.1)));
}

TEST(Outcomes, OtherFailuresTakeItOutTheThirdTimeWithinTenSeconds) {
  for (const Relayed end : {Relayed::timed_out, Relayed::bad_gateway, Relayed::unavailable, Relayed::gateway_timeout,
                            Relayed::host_fault, Relayed::broke_off}) {
    EXPECT_FALSE(is_out(after({{end, 100}}), at(100)));
    EXPECT_FALSE(is_out(after({{end, 100}, {end, 104}}), at(104)));
    EXPECT_TRUE(is_out(after({{end, 100}, {end, 104}, {end, 109.9}}), at(110)));
    EXPECT_FALSE(is_out(after({{end, 100}, {end, 104}, {end, 110.2}}), at(110.2)));
  }
}

TEST(Outcomes, FailuresThatSlideThroughTheWindowCount) {
  EXPECT_TRUE(is_out(
      after(
          {{Relayed::timed_out, 100}, {Relayed::timed_out, 106}, {Relayed::timed_out, 112}, {Relayed::timed_out, 115}}),
      at(115)));
}

TEST(Outcomes, SuccessDoesNotWashFailuresAway) {
  EXPECT_TRUE(is_out(after({{Relayed::timed_out, 100},
                            {Relayed::fine, 101},
                            {Relayed::timed_out, 102},
                            {Relayed::fine, 103},
                            {Relayed::timed_out, 104}}),
                     at(104)));
}

TEST(Outcomes, WhatWasUnderWayDoesNotProlongTheTimeOut) {
  const Outcomes outcomes =
      after({{Relayed::no_connection, 100}, {Relayed::broke_off, 103}, {Relayed::timed_out, 104}});
  EXPECT_FALSE(is_out(outcomes, at(105.1)));
  EXPECT_EQ(outcomes.end, Relayed::no_connection);
}

TEST(Outcomes, AFailedConnectionWhileOutBeginsAnew) {
  EXPECT_TRUE(is_out(after({{Relayed::no_connection, 100}, {Relayed::no_connection, 104}}), at(108)));
}

TEST(Outcomes, AfterTheTimeOutOneFailureIsNoThirdUnlessTheyAreClose) {
  EXPECT_FALSE(is_out(after({{Relayed::no_connection, 100}, {Relayed::timed_out, 106}}), at(106)));
}

TEST(Outcomes, OfTheDayBeforeAreForgotten) {
  const Outcomes outcomes = after({{Relayed::no_connection, 100}});
  for (const double later : {1000.0, 86400.0, 10485.76 + 100, 42949672.96 + 100, 1e9}) {
    EXPECT_FALSE(is_out(outcomes, at(later))) << later;
  }
}

TEST(Outcomes, AClockReadAMomentApartDoesNotMatterButAnOtherOneDoes) {
  const Outcomes outcomes = after({{Relayed::no_connection, 100}});
  EXPECT_TRUE(is_out(outcomes, at(99.99)));
  EXPECT_FALSE(is_out(outcomes, at(50)));
}

TEST(Outcomes, GoThroughTheWord) {
  const Outcomes outcomes{at(1234.56), at(1230.1), Relayed::gateway_timeout, true};
  const Outcomes read = outcomes_of(packed(outcomes));
  EXPECT_NEAR((read.last - outcomes.last).count(), 0, 0.006);
  EXPECT_NEAR((read.previous - outcomes.previous).count(), 0, 0.011);
  EXPECT_EQ(read.end, Relayed::gateway_timeout);
  EXPECT_TRUE(read.took_out);
}

TEST(Outcomes, OfGarbageAreSane) {
  Draw draw{7};
  for (int i = 0; i < 10000; ++i) {
    const Outcomes outcomes = outcomes_of(draw.next());
    EXPECT_LT(static_cast<std::size_t>(outcomes.end), kRelayedEnds);
    EXPECT_NE(cause_of(outcomes), "");
    with_end(outcomes, Relayed::timed_out, at(100));
  }
}

TEST(Outcomes, SayTheCause) {
  EXPECT_EQ(cause_of(after({{Relayed::no_connection, 1}})), "relayed requests: no connection");
}

TEST(Outcomes, AHostThatIsOutComesAfterAllOthersThatAreNotDown) {
  const Outcomes out = after({{Relayed::no_connection, 100}});
  EXPECT_EQ(tier_with(Tier::usable, out, at(101)), Tier::failed);
  EXPECT_EQ(tier_with(Tier::backup, out, at(101)), Tier::failed);
  EXPECT_EQ(tier_with(Tier::silent, out, at(101)), Tier::failed);
  EXPECT_EQ(tier_with(Tier::down, out, at(101)), Tier::down);
  EXPECT_EQ(tier_with(Tier::out, out, at(101)), Tier::out);
  EXPECT_EQ(tier_with(Tier::usable, out, at(106)), Tier::usable);
}

TEST(Outcomes, ReachTheCandidate) {
  PoolStanding pool;
  pool.started = pool.beat = at(100);
  Live live;
  live.in_flight = 3;
  live.outcomes = after({{Relayed::no_connection, 100}});
  const Candidate c = candidate(0, HostConfig{}, Standing{}, live, pool, ProbeConfig{}, at(101));
  EXPECT_EQ(c.tier, Tier::failed);
  EXPECT_EQ(c.in_flight, 3);
}

}  // namespace
}  // namespace balance
