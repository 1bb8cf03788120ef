// SPDX-License-Identifier: MIT
// What is believed of one host, and what is said of its turns.
#include "balance/pool/belief.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

const Limits kProbed{Seconds{2}, at(0), true};
const Limits kUnprobed{Seconds{2}, at(0), false};
const ProbeFailure kRefused{Failure::refused, "connection refused"};
const ProbeFailure kTimeout{Failure::timeout, "no answer within 500ms"};

Report report_of(double cores = 4) {
  Report report;
  report.running = 1;
  report.cores = cores;
  return report;
}

// A host that has been up since its first report at 1 s, heard last at 100 s.
Belief up() {
  Belief belief = with_report({}, report_of(), kProbed, at(1));
  belief = with_web_answer(belief, kProbed, at(1));
  for (int i = 2; i <= 100; ++i) belief = with_report(belief, report_of(), kProbed, at(i));
  return belief;
}

TEST(Belief, AtFirstIsUnknown) { EXPECT_EQ(Belief{}.standing.health, Health::unknown); }

TEST(Belief, IsUpWithTheVeryFirstReport) {
  const Belief belief = with_report({}, report_of(), kProbed, at(1));
  EXPECT_EQ(belief.standing.health, Health::up);
  EXPECT_EQ(belief.standing.reported, at(1));
  EXPECT_EQ(belief.standing.changed, at(1));
  EXPECT_EQ(belief.standing.cores, 4);
}

TEST(Belief, IsUpWithTheVeryFirstReportEvenAfterRefusals) {
  const Belief belief = with_report(with_probe_failure({}, kRefused, at(0.5)), report_of(), kProbed, at(1));
  EXPECT_EQ(belief.standing.health, Health::up);
  EXPECT_EQ(belief.standing.cause, "");
}

TEST(Belief, IsDownAtTheFirstRefusalOfTheProbePort) {
  const Belief belief = with_probe_failure(up(), kRefused, at(101));
  EXPECT_EQ(belief.standing.health, Health::down);
  EXPECT_EQ(belief.standing.cause, "probe port: connection refused");
  EXPECT_EQ(belief.standing.changed, at(101));
}

TEST(Belief, TellsARefusedProbeFromADeadHost) {
  Belief belief = with_probe_failure(up(), kRefused, at(101));
  EXPECT_TRUE(belief.standing.probe_refused);
  belief = with_web_failure(belief, kRefused, kProbed, at(101.5));
  EXPECT_FALSE(belief.standing.probe_refused);
  belief = with_web_answer(belief, kProbed, at(102));
  EXPECT_TRUE(belief.standing.probe_refused);
  EXPECT_EQ(belief.standing.health, Health::down);
  for (int i = 0; i < 2; ++i) belief = with_report(belief, report_of(), kProbed, at(103 + i));
  EXPECT_FALSE(belief.standing.probe_refused);
}

TEST(Belief, DoesNotTakeADeadMapserverForARefusedProbe) {
  Report dead = report_of();
  dead.mapserver_up = false;
  Belief belief = with_report(up(), dead, kProbed, at(101));
  EXPECT_FALSE(belief.standing.probe_refused);
  // Nor when the probe is gone as well: the last that was heard of its mapserver is that it was dead.
  belief = with_probe_failure(belief, kRefused, at(102));
  EXPECT_FALSE(belief.standing.probe_refused);
}

TEST(Belief, IsDownAtTheFirstReset) {
  EXPECT_EQ(with_probe_failure(up(), {Failure::reset, "reset"}, at(101)).standing.health, Health::down);
}

TEST(Belief, StaysUpThroughSilenceAndKeepsItsCause) {
  for (const Failure failure : {Failure::timeout, Failure::unresolvable, Failure::garbage}) {
    const Belief belief = with_probe_failure(up(), {failure, "no answer within 500ms"}, at(101));
    EXPECT_EQ(belief.standing.health, Health::up);
    EXPECT_EQ(belief.standing.reported, at(100));
    EXPECT_EQ(belief.standing.cause, "probe port: no answer within 500ms");
  }
}

TEST(Belief, ForgetsTheCauseOfSilenceWithTheNextReport) {
  const Belief belief = with_report(with_probe_failure(up(), kTimeout, at(101)), report_of(), kProbed, at(101.2));
  EXPECT_EQ(belief.standing.cause, "");
}

TEST(Belief, IsUpAgainAfterTwoGoodReports) {
  Belief belief = with_probe_failure(up(), kRefused, at(101));
  belief = with_report(belief, report_of(), kProbed, at(102));
  EXPECT_EQ(belief.standing.health, Health::down);
  belief = with_report(belief, report_of(), kProbed, at(102.25));
  EXPECT_EQ(belief.standing.health, Health::up);
  EXPECT_EQ(belief.standing.cause, "");
  EXPECT_EQ(belief.standing.up_since, at(102.25));
  EXPECT_TRUE(belief.back);
}

TEST(Belief, NeedsTheTwoGoodReportsInARow) {
  Belief belief = with_probe_failure(up(), kRefused, at(101));
  belief = with_report(belief, report_of(), kProbed, at(102));
  belief = with_probe_failure(belief, kTimeout, at(103));
  belief = with_report(belief, report_of(), kProbed, at(104));
  EXPECT_EQ(belief.standing.health, Health::down);
  EXPECT_EQ(belief.standing.cause, "probe port: connection refused");
}

TEST(Belief, IsDownWhenTheWebPortRefusesBesideALiveProbe) {
  Belief belief = with_web_failure(up(), kRefused, kProbed, at(101));
  EXPECT_EQ(belief.standing.health, Health::down);
  EXPECT_EQ(belief.standing.web, WebPort::refused);
  EXPECT_EQ(belief.standing.cause, "web port: connection refused");
  for (int i = 0; i < 5; ++i) belief = with_report(belief, report_of(), kProbed, at(101.1 + i));
  EXPECT_EQ(belief.standing.health, Health::down);
}

TEST(Belief, IsUpAgainWhenTheWebPortAnswersBesideALiveProbe) {
  Belief belief = with_web_failure(up(), kRefused, kProbed, at(101));
  belief = with_web_answer(belief, kProbed, at(105));
  EXPECT_EQ(belief.standing.health, Health::up);
  EXPECT_EQ(belief.standing.up_since, at(105));
}

TEST(Belief, NeedsBothPortsToBeUpAgain) {
  Belief belief = with_web_failure(with_probe_failure(up(), kRefused, at(101)), kRefused, kProbed, at(101));
  belief = with_web_answer(belief, kProbed, at(102));
  EXPECT_EQ(belief.standing.health, Health::down);
  belief = with_report(with_report(belief, report_of(), kProbed, at(103)), report_of(), kProbed, at(104));
  EXPECT_EQ(belief.standing.health, Health::up);
}

TEST(Belief, OfASilentWebPortIsDownOnlyAfterExpire) {
  Belief belief = with_web_failure(up(), kTimeout, kProbed, at(101));
  EXPECT_EQ(belief.standing.health, Health::up);
  EXPECT_EQ(belief.standing.web, WebPort::silent);
  belief = with_web_failure(belief, kTimeout, kProbed, at(102.9));
  EXPECT_EQ(belief.standing.health, Health::up);
  belief = with_web_failure(belief, kTimeout, kProbed, at(103));
  EXPECT_EQ(belief.standing.health, Health::down);
  EXPECT_EQ(belief.standing.cause, "web port: no answer within 500ms");
}

TEST(Belief, CountsTheSilenceOfAWebPortFromTheLastAnswer) {
  Belief belief = with_web_failure(up(), kTimeout, kProbed, at(101));
  belief = with_web_answer(belief, kProbed, at(102));
  belief = with_web_failure(belief, kTimeout, kProbed, at(103.5));
  EXPECT_EQ(belief.standing.health, Health::up);
}

TEST(Belief, OfAProbedHostIsNotUpByItsWebPortAlone) {
  EXPECT_EQ(with_web_answer({}, kProbed, at(1)).standing.health, Health::unknown);
}

TEST(Belief, OfAHostWithoutAProbeLivesByItsWebPort) {
  Belief belief = with_web_answer({}, kUnprobed, at(1));
  EXPECT_EQ(belief.standing.health, Health::up);
  belief = with_web_failure(belief, kRefused, kUnprobed, at(2));
  EXPECT_EQ(belief.standing.health, Health::down);
  belief = with_web_answer(belief, kUnprobed, at(3));
  EXPECT_EQ(belief.standing.health, Health::down);
  belief = with_web_answer(belief, kUnprobed, at(4));
  EXPECT_EQ(belief.standing.health, Health::up);
  EXPECT_EQ(belief.standing.up_since, at(4));
}

TEST(Belief, IsDownWhenTheHostSaysThatMapserverIs) {
  Report dead = report_of();
  dead.mapserver_up = false;
  Belief belief = with_report(up(), dead, kProbed, at(101));
  EXPECT_EQ(belief.standing.health, Health::down);
  EXPECT_EQ(belief.standing.cause, "mapserver: not answering on its host");
  EXPECT_EQ(belief.standing.reported, at(101));
  belief = with_report(belief, report_of(), kProbed, at(102));
  EXPECT_EQ(belief.standing.health, Health::down);
  EXPECT_EQ(with_report(belief, report_of(), kProbed, at(103)).standing.health, Health::up);
}

TEST(Belief, IsDownWhenTheVeryFirstReportSaysThatMapserverIs) {
  Report dead = report_of();
  dead.mapserver_up = false;
  EXPECT_EQ(with_report({}, dead, kProbed, at(1)).standing.health, Health::down);
}

TEST(Belief, TakesDutyAndItsReasonFromTheReportAtOnce) {
  Report draining = report_of();
  draining.duty = Duty::draining;
  draining.reason = "new disks";
  Belief belief = with_report(up(), draining, kProbed, at(101));
  EXPECT_EQ(belief.standing.duty, Duty::draining);
  EXPECT_EQ(belief.standing.cause, "new disks");
  belief = with_report(belief, report_of(), kProbed, at(102));
  EXPECT_EQ(belief.standing.duty, Duty::serving);
  EXPECT_EQ(belief.standing.cause, "");
  EXPECT_FALSE(belief.back);
}

TEST(Belief, KeepsTheCauseShort) {
  Report draining = report_of();
  draining.duty = Duty::draining;
  draining.reason = std::string(200, 'x');
  EXPECT_EQ(with_report(up(), draining, kProbed, at(101)).standing.cause.size(), 111U);
}

TEST(Belief, KeepsTheCoresWhenAReportLacksThem) {
  Report report;
  report.load1 = 3;
  const Belief belief = with_report(up(), report, kProbed, at(101));
  EXPECT_EQ(belief.standing.cores, 4);
  EXPECT_EQ(belief.standing.load1, 3);
  EXPECT_EQ(belief.standing.running, std::nullopt);
}

TEST(SlowStart, DoesNotBeginAtTheFirstReportSoonAfterPoolwatch) {
  const Belief belief = with_report({}, report_of(), kProbed, at(4));
  EXPECT_FALSE(belief.back);
  EXPECT_EQ(belief.standing.up_since, base::kNever);
}

TEST(SlowStart, BeginsAtALateFirstReport) {
  const Belief belief = with_report({}, report_of(), kProbed, at(4.1));
  EXPECT_TRUE(belief.back);
  EXPECT_EQ(belief.standing.up_since, at(4.1));
}

TEST(SlowStart, BeginsAfterASilenceOfExpire) {
  EXPECT_FALSE(with_report(up(), report_of(), kProbed, at(101.9)).back);
  const Belief belief = with_report(up(), report_of(), kProbed, at(102));
  EXPECT_TRUE(belief.back);
  EXPECT_EQ(belief.standing.up_since, at(102));
}

TEST(SlowStart, BeginsWithAnotherBootOrStartTime) {
  Report report = report_of();
  report.boot_time = 1e9;
  report.start_time = 1e9 + 20;
  Belief belief = with_report(up(), report, kProbed, at(101));
  EXPECT_FALSE(belief.back);
  report.boot_time = 1e9 + 1;  // the wall clock was set a little
  belief = with_report(belief, report, kProbed, at(102));
  EXPECT_TRUE(belief.standing.up_since == base::kNever);
  report.start_time = 1e9 + 25;
  EXPECT_TRUE(with_report(belief, report, kProbed, at(103)).back);
  report.start_time = 1e9 + 20;
  report.boot_time = 1e9 + 900;
  EXPECT_TRUE(with_report(belief, report, kProbed, at(103)).back);
}

TEST(SlowStart, BeginsWhenAHostThatWasOffServesAgain) {
  Report off = report_of();
  off.duty = Duty::off;
  const Belief belief = with_report(with_report(up(), off, kProbed, at(101)), report_of(), kProbed, at(102));
  EXPECT_TRUE(belief.back);
  EXPECT_EQ(belief.standing.up_since, at(102));
}

TEST(SlowStart, IsNotBegunAnewByEveryReport) {
  Belief belief = with_report({}, report_of(), kProbed, at(10));
  belief = with_report(belief, report_of(), kProbed, at(10.25));
  EXPECT_FALSE(belief.back);
  EXPECT_EQ(belief.standing.up_since, at(10));
}

TEST(Transition, IsNoneWithoutAChange) {
  const Standing standing = up().standing;
  EXPECT_FALSE(transition(standing, standing, Tier::usable, Tier::usable).happened);
  EXPECT_FALSE(transition(standing, standing, Tier::silent, Tier::silent).happened);
}

TEST(Transition, NamesWhatHappenedAndTheCause) {
  const Standing good = up().standing;
  const Standing bad = with_web_failure(up(), kRefused, kProbed, at(101)).standing;
  const Transition down = transition(good, bad, Tier::usable, Tier::down);
  EXPECT_TRUE(down.happened);
  EXPECT_EQ(down.what, "host down");
  EXPECT_EQ(down.cause, "web port: connection refused");
  const Transition again = transition(bad, good, Tier::down, Tier::usable);
  EXPECT_EQ(again.what, "host up");
  EXPECT_EQ(again.cause, "answers again");
}

TEST(Transition, NamesTheFirstReport) {
  EXPECT_EQ(transition({}, up().standing, Tier::usable, Tier::usable).cause, "first answer");
}

TEST(Transition, NamesSilenceAndItsEnd) {
  const Standing good = up().standing;
  const Standing quiet = with_probe_failure(up(), kTimeout, at(101)).standing;
  EXPECT_FALSE(transition(good, quiet, Tier::usable, Tier::usable).happened);
  const Transition silent = transition(quiet, quiet, Tier::usable, Tier::silent);
  EXPECT_EQ(silent.what, "host silent");
  EXPECT_EQ(silent.cause, "probe port: no answer within 500ms");
  EXPECT_EQ(transition(quiet, good, Tier::silent, Tier::usable).what, "host up");
}

TEST(Transition, NamesDuty) {
  const Standing good = up().standing;
  Standing draining = good;
  draining.duty = Duty::draining;
  draining.cause = "new disks";
  const Transition out = transition(good, draining, Tier::usable, Tier::out);
  EXPECT_EQ(out.what, "host draining");
  EXPECT_EQ(out.cause, "new disks");
  EXPECT_EQ(transition(draining, good, Tier::out, Tier::usable).cause, "serving again");
}

}  // namespace
}  // namespace balance
