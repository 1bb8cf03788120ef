// SPDX-License-Identifier: MIT
#include "balance/pool/standing.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

// At 100 s: poolwatch has run since 0 s and is alive, `expire` is 2 s.
struct Watched {
  HostConfig host;
  Standing standing;
  PoolStanding pool;
  ProbeConfig probe;

  Watched() {
    pool.started = at(0);
    pool.beat = at(99.9);
    probe.interval = Seconds{0.25};
    probe.expire = Seconds{2};
    standing.health = Health::up;
    standing.reported = at(99.8);
  }
  Tier tier() const { return tier_of(host, standing, pool, probe, at(100)); }
};

TEST(Tier, OfAReportingHostIsUsable) { EXPECT_EQ(Watched().tier(), Tier::usable); }

TEST(Tier, OfASpareIsBackup) {
  Watched w;
  w.host.backup = true;
  EXPECT_EQ(w.tier(), Tier::backup);
}

TEST(Tier, BecomesSilentWhenTheLastReportExpires) {
  Watched w;
  w.standing.reported = at(98.001);
  EXPECT_EQ(w.tier(), Tier::usable);
  w.standing.reported = at(98);
  EXPECT_EQ(w.tier(), Tier::silent);
}

TEST(Tier, OfASilentSpareIsSilent) {
  Watched w;
  w.host.backup = true;
  w.standing.reported = at(90);
  EXPECT_EQ(w.tier(), Tier::silent);
}

TEST(Tier, OfAHostWhoseProbePortAloneRefusesIsItsWebPort) {
  Watched w;
  w.standing.health = Health::down;
  w.standing.web = WebPort::answers;
  EXPECT_EQ(w.tier(), Tier::down);  // by its own word
  w.standing.probe_refused = true;
  EXPECT_EQ(w.tier(), Tier::web_only);
  w.host.backup = true;
  EXPECT_EQ(w.tier(), Tier::web_only);
  for (const WebPort port : {WebPort::unchecked, WebPort::refused, WebPort::silent}) {
    w.standing.web = port;
    EXPECT_EQ(w.tier(), Tier::down);
  }
}

TEST(Tier, OfADrainingHostStaysOutThoughItsProbePortRefuses) {
  Watched w;
  w.standing.health = Health::down;
  w.standing.web = WebPort::answers;
  w.standing.probe_refused = true;
  w.standing.duty = Duty::draining;
  EXPECT_EQ(w.tier(), Tier::out);
}

TEST(Tier, OfAHostNeverHeardOfIsUsableUntilTheFirstExpiry) {
  Watched w;
  w.standing = Standing{};
  w.pool.started = at(98.5);
  EXPECT_EQ(w.tier(), Tier::usable);
  w.pool.started = at(97);
  EXPECT_EQ(w.tier(), Tier::silent);
}

TEST(Tier, OfAHostThatIsDownForSureOrWrongIsDown) {
  Watched w;
  w.standing.health = Health::down;
  EXPECT_EQ(w.tier(), Tier::down);
  w.standing.health = Health::wrong;
  EXPECT_EQ(w.tier(), Tier::down);
}

TEST(Tier, OfAHealthyDrainingHostIsForItsOwnClientsAlone) {
  Watched w;
  w.standing.duty = Duty::draining;
  EXPECT_EQ(w.tier(), Tier::draining);
  w.standing.reported = at(90);
  EXPECT_EQ(w.tier(), Tier::out);
}

TEST(Tier, OfAHostThatIsOffIsOutHoweverHealthy) {
  Watched w;
  w.standing.duty = Duty::off;
  EXPECT_EQ(w.tier(), Tier::out);
}

TEST(Tier, OfAHostWithWeightZeroIsThatOfADrainingOne) {
  Watched w;
  w.host.weight = 0;
  EXPECT_EQ(w.tier(), Tier::draining);
  w.standing.by_hand.weight = 0.5;
  EXPECT_EQ(w.tier(), Tier::usable);
}

TEST(Tier, GoesByTheStricterOfWhatTheHostSaysAndWhatWasSetByHand) {
  Watched w;
  w.standing.by_hand = {.duty = Duty::draining, .until = at(101)};
  EXPECT_EQ(w.tier(), Tier::draining);
  w.standing.duty = Duty::off;
  EXPECT_EQ(w.tier(), Tier::out);
  w.standing.duty = Duty::serving;
  w.standing.by_hand.duty = Duty::off;
  EXPECT_EQ(w.tier(), Tier::out);
  w.standing.by_hand.until = at(100);  // over
  EXPECT_EQ(w.tier(), Tier::usable);
}

TEST(Tier, OfAHostWithoutAProbeNeedsNoReport) {
  Watched w;
  w.host.probe = ProbeKind::none;
  w.standing = Standing{};
  EXPECT_EQ(w.tier(), Tier::usable);
  w.standing.health = Health::down;
  EXPECT_EQ(w.tier(), Tier::down);
}

TEST(Tier, OfASilentHostInAPanicIsUsableIfItsWebPortAnswered) {
  Watched w;
  w.standing.reported = at(90);
  w.pool.panic = true;
  w.standing.web = WebPort::answers;
  EXPECT_EQ(w.tier(), Tier::usable);
  w.standing.web = WebPort::silent;
  EXPECT_EQ(w.tier(), Tier::silent);
  w.standing.web = WebPort::unchecked;
  EXPECT_EQ(w.tier(), Tier::silent);
}

TEST(Tier, OfEveryHostNotKnownDownIsUsableWhenNobodyWatches) {
  Watched w;
  w.pool.beat = at(97);
  w.standing.reported = at(90);
  EXPECT_TRUE(is_unwatched(w.pool, w.probe, at(100)));
  EXPECT_EQ(w.tier(), Tier::usable);
  w.standing.health = Health::down;
  EXPECT_EQ(w.tier(), Tier::down);
  w.standing.duty = Duty::draining;
  EXPECT_EQ(w.tier(), Tier::out);
}

TEST(Pool, IsWatchedUntilTheBeatExpires) {
  Watched w;
  w.pool.beat = at(98.5);
  EXPECT_FALSE(is_unwatched(w.pool, w.probe, at(100)));
  w.pool.beat = at(98);
  EXPECT_TRUE(is_unwatched(w.pool, w.probe, at(100)));
  EXPECT_TRUE(is_unwatched(PoolStanding{}, w.probe, at(0)));
}

TEST(Names, AreThoseOfTheManual) {
  EXPECT_EQ(name_of(Health::unknown), "unknown");
  EXPECT_EQ(name_of(Health::up), "up");
  EXPECT_EQ(name_of(Health::down), "down");
  EXPECT_EQ(name_of(Health::wrong), "wrong");
  EXPECT_EQ(name_of(WebPort::refused), "refused");
  EXPECT_EQ(name_of(WebPort::answers), "answers");
  EXPECT_EQ(name_of(Tier::usable), "usable");
  EXPECT_EQ(name_of(Tier::out), "out");
  EXPECT_EQ(name_of(Tier::web_only), "web only");
}

}  // namespace
}  // namespace balance
