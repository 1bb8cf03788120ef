// SPDX-License-Identifier: MIT
// Cases from the field: what others met who choose among hosts. Each test is named for the symptom, with the public
// report or document it comes from ('owner-or-project#issue').
#include <algorithm>
#include <set>
#include <vector>

#include "balance/pool/belief.h"
#include "balance/pool/decision.h"
#include "balance/pool/policy.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

Snapshot pool_of(std::size_t hosts) {
  Snapshot snapshot;
  snapshot.now = at(1000);
  for (std::size_t i = 0; i < hosts; ++i) {
    Candidate candidate;
    candidate.host = i;
    candidate.cores = 4;
    candidate.reported = at(1000);
    candidate.prediction.at = at(1000);
    snapshot.candidates.push_back(candidate);
  }
  return snapshot;
}

// One request, as the table would see it; the host.
std::size_t send(Snapshot& snapshot) {
  const Choice choice = predict(snapshot);
  const std::size_t host = choice.hosts.at(0);
  for (Candidate& candidate : snapshot.candidates) {
    if (candidate.host != host) continue;
    if (choice.took_turn) {
      const Turn turn = turn_taken(candidate, snapshot.virtual_time);
      candidate.turn = turn.host;
      snapshot.virtual_time = turn.pool;
    }
    candidate.prediction = with_dispatch(candidate.prediction, candidate, snapshot);
  }
  return host;
}

// snuspl/pluto#1012, haproxy#1393; the rule of 1999 sends all 200 to one host.
TEST(FieldCases, TheHostThatLookedIdleIsNotFloodedUntilTheNextReport) {
  Snapshot snapshot = pool_of(8);
  for (std::size_t i = 1; i < 8; ++i) snapshot.candidates[i].prediction.requests = 1;
  std::vector<int> counts(8);
  for (int i = 0; i < 200; ++i) ++counts[send(snapshot)];
  EXPECT_LE(*std::ranges::max_element(counts), 50);  // twice the fair share
  EXPECT_GE(*std::ranges::min_element(counts), 12);
}

// Envoy's panic threshold
TEST(FieldCases, WhenMostHostsFallSilentTheProberIsDoubted) {
  const Config config =
      config_of("", "host = a http://a.example.org\nhost = b http://b.example.org\nhost = c http://c.example.org\n");
  Standing silent, heard;
  silent.health = heard.health = Health::up;
  silent.reported = at(900);
  silent.web = WebPort::answers;
  heard.reported = at(1000);
  PoolStanding pool;
  pool.beat = at(1000);
  pool.started = at(1);
  const auto panics = [&](const std::vector<Standing>& standings, double threshold) {
    return is_panic(config.hosts, standings, pool, config.probe, threshold, at(1000));
  };
  EXPECT_FALSE(panics({heard, heard, silent}, config.panic));
  EXPECT_TRUE(panics({heard, silent, silent}, config.panic));
  EXPECT_FALSE(panics({silent, silent, silent}, 0));
  EXPECT_EQ(tier_of(config.hosts[0], silent, pool, config.probe, at(1000)), Tier::silent);
  pool.panic = true;
  EXPECT_EQ(tier_of(config.hosts[0], silent, pool, config.probe, at(1000)), Tier::usable);
}

// Apache's forcerecovery; ldirectord's fallback
TEST(FieldCases, WithAllHostsDownThereIsTheBackupAndElseA503ThatNamesATime) {
  const Config config = config_of("", "host = a http://a.example.org\nhost = b http://b.example.org backup\n");
  const Request request = request_of(get("mode=map"), config);
  const Plan plan = plan_for(request, config, Relaying::absent);
  Snapshot snapshot = pool_of(2);
  snapshot.candidates[0].tier = Tier::down;
  snapshot.candidates[1].tier = Tier::backup;
  EXPECT_EQ(header(decide(request, config, plan, snapshot, Draw{1}).reply, "X-Balance-Host"), "b");
  snapshot.candidates[1].tier = Tier::down;
  const Reply reply = decide(request, config, plan, snapshot, Draw{1}).reply;
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(header(reply, "Retry-After"), "5");
}

// Sun Cluster's weighted sharing; haproxy's weight
TEST(FieldCases, WeightsOneAndTwoShareOneToTwoAndZeroGetsNothing) {
  Snapshot snapshot = pool_of(3);
  snapshot.weights_count = true;
  snapshot.candidates[1].weight = 2;
  snapshot.candidates[2].tier = Tier::out;
  std::vector<int> counts(3);
  for (int i = 0; i < 3000; ++i) {
    ++counts[send(snapshot)];
    for (Candidate& candidate : snapshot.candidates) candidate.prediction.requests = 0;  // long since served
  }
  EXPECT_NEAR(counts[0], 1000, 30);
  EXPECT_NEAR(counts[1], 2000, 30);
  EXPECT_EQ(counts[2], 0);
  HostConfig drained = config_of("", "host = a http://a.example.org weight=0\n").hosts.front();
  EXPECT_EQ(tier_of(drained, Standing{}, PoolStanding{}, ProbeConfig{}, at(1000)), Tier::draining);
}

// envoy#3407
TEST(FieldCases, AWeightedChoiceComesInNoBursts) {
  Snapshot snapshot = pool_of(2);
  snapshot.weights_count = true;
  snapshot.candidates[1].weight = 2;
  std::size_t last = 2;
  int run = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t host = send(snapshot);
    for (Candidate& candidate : snapshot.candidates) candidate.prediction.requests = 0;
    run = host == last ? run + 1 : 1;
    last = host;
    ASSERT_LE(run, 3) << i;
  }
}

}  // namespace
}  // namespace balance
