// SPDX-License-Identifier: MIT
// Which hosts keep their clients and which lose them: drained, off, dead, silent, without a weight, backups.
#include "tests/unit/sticky_client.h"

namespace balance {
namespace {

TEST_F(StickyClient, ADrainedHostKeepsItsClientsAndGetsNoOthers) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::up, Duty::draining);
  EXPECT_EQ(ask(from("192.0.2.7")), "leopold");
  EXPECT_NE(ask(from("192.0.2.8")), "leopold");
  const Instant later = kNow + Seconds{60};
  beat(later);
  for (const std::size_t host : {0U, 2U}) put(host, 10, later);
  put(1, 0, later, Health::up, Duty::draining);
  EXPECT_NE(ask(from("192.0.2.7"), later), "leopold");
}

TEST_F(StickyClient, ADrainEndsHoweverBusyTheClient) {
  put(1, 0);
  ask(from("192.0.2.7"));
  for (const double seconds : {30.0, 59.0, 60.0}) {
    const Instant later = kNow + Seconds{seconds};
    beat(later);
    for (const std::size_t host : {0U, 2U}) put(host, 10, later);
    put(1, 0, later, Health::up, Duty::draining);
    EXPECT_EQ(ask(from("192.0.2.7"), later) == "leopold", seconds < 60) << seconds;
  }
}

TEST_F(StickyClient, ADrainedHostThatIsAloneKeepsItsClients) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(0, 0, kNow, Health::down);
  put(1, 0, kNow, Health::up, Duty::draining);
  put(2, 0, kNow, Health::down);
  EXPECT_EQ(ask(from("192.0.2.7")), "leopold");
  EXPECT_EQ(ask(from("192.0.2.8")), "nobody");
}

TEST_F(StickyClient, AHostThatIsOffLosesItsClients) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::up, Duty::off);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

TEST_F(StickyClient, ADrainedHostThatDiesLosesItsClients) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::down, Duty::draining);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

TEST_F(StickyClient, ASilentHostLosesItsClientsToThoseThatSpeak) {
  put(1, 0);
  ask(from("192.0.2.7"));
  const Instant later = kNow + Seconds{3};
  beat(later);
  for (const std::size_t host : {0U, 2U}) put(host, 10, later);
  EXPECT_NE(ask(from("192.0.2.7"), later), "leopold");
}

TEST_F(StickyClient, AHostThatRelayedRequestsFailedOnLosesItsClients) {
  put(1, 0);
  ask(from("192.0.2.7"));
  table_.note_end(1, Relayed::no_connection, kNow);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

TEST_F(StickyClient, ADeadHostsClientMovesOnceAndStaysWhereItWent) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::down);
  put(2, 0);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
  put(1, 0);
  put(2, 1000);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
}

class MoveWhenDrained : public StickyClient {
 protected:
  MoveWhenDrained() : StickyClient("sticky = client\ndrain-sticky = move\n") {}
};
TEST_F(MoveWhenDrained, ADrainedHostLosesItsClientsAtOnce) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::up, Duty::draining);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

class WeightZero : public StickyClient {
 protected:
  WeightZero()
      : StickyClient("sticky = client\n",
                     "host = pinchot http://pinchot.example.org:8080 weight=0\n"
                     "host = leopold http://leopold.example.org:8080\n") {}
};
TEST_F(WeightZero, AHostWithoutAWeightKeepsItsClients) {
  table_.claim_client(sticky_key(*base::parse_address("192.0.2.7")), 0, std::nullopt, kNow, Seconds{60});
  EXPECT_EQ(ask(from("192.0.2.7")), "pinchot");
  EXPECT_EQ(ask(from("192.0.2.8")), "leopold");
}

class WithBackup : public StickyClient {
 protected:
  WithBackup()
      : StickyClient(
            "sticky = client\n",
            "host = pinchot http://pinchot.example.org:8080\nhost = darwin http://darwin.example.org backup\n") {}
};
TEST_F(WithBackup, ClientsOfABackupStayWhenTheOthersReturn) {
  put(0, 0, kNow, Health::down);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
  put(0, 0);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
  EXPECT_EQ(ask(from("192.0.2.8")), "pinchot");
}

}  // namespace
}  // namespace balance
