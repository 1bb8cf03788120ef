// SPDX-License-Identifier: MIT
// What poolwatch asks and believes, with a network and a clock that the test moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "balance/watch/watcher.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

// Remembers what was asked; answers what the test put in.
class FakeProber final : public Prober {
 public:
  void start_probe(const ProbeQuestion& question, Instant) override { probes.push_back(question); }
  void start_web_check(std::size_t host, Instant) override { web_checks.push_back(host); }
  std::vector<Outcome> take(Instant) override { return std::exchange(outcomes, {}); }

  void report(std::size_t host, Report report) { outcomes.push_back({host, Outcome::Of::probe, std::move(report)}); }
  void fail_probe(std::size_t host, Failure failure, std::string what) {
    outcomes.push_back({host, Outcome::Of::probe, ProbeFailure{failure, std::move(what)}});
  }
  void web_answers(std::size_t host) { outcomes.push_back({host, Outcome::Of::web, WebAnswer{}}); }
  void fail_web(std::size_t host, Failure failure, std::string what) {
    outcomes.push_back({host, Outcome::Of::web, ProbeFailure{failure, std::move(what)}});
  }

  std::vector<ProbeQuestion> probes;
  std::vector<std::size_t> web_checks;
  std::vector<Outcome> outcomes;
};

HostConfig host_named(const std::string& name) {
  HostConfig host;
  host.name = name;
  host.inside.host = name + ".example";
  return host;
}

Config config_of(const std::vector<std::string>& names) {
  Config config;
  for (const std::string& name : names) config.hosts.push_back(host_named(name));
  return config;
}

Report running(double tasks, double cores = 4) {
  Report report;
  report.running = tasks;
  report.cores = cores;
  return report;
}

// "host down h1 web port: connection refused"
std::vector<std::string> lines(const std::vector<Notice>& notices) {
  std::vector<std::string> out;
  for (const Notice& notice : notices) {
    out.push_back(notice.what + (notice.host.empty() ? "" : " " + notice.host) + ": " + notice.cause);
  }
  return out;
}

using Lines = std::vector<std::string>;

class WatcherTest : public ::testing::Test {
 protected:
  void begin(Config config) {
    const TableShape shape{1, config.hosts.size(), "boot"};
    base::Result<Table> made = Table::create(scratch_ / "t.table", shape);
    ASSERT_TRUE(made);
    table_ = std::make_unique<Table>(*std::move(made));
    watcher_ = std::make_unique<Watcher>(std::move(config), prober_, *table_, at(100));
  }
  Lines turn(double seconds) { return lines(watcher_->turn(at(seconds))); }
  // All hosts have answered by 100.1 s.
  void begin_up(Config config) {
    begin(std::move(config));
    run(100, 100.11);
  }
  // Turns every 50 ms, all probes and web checks that were begun answered at once, except those of `mute`.
  Lines run(double from, double to, std::size_t mute = 99) {
    Lines all;
    for (double now = from; now < to; now += 0.05) {
      for (const ProbeQuestion& question : std::exchange(prober_.probes, {})) {
        if (question.host == mute) {
          prober_.fail_probe(mute, Failure::timeout, "no answer within 500ms");
        } else {
          prober_.report(question.host, running(1));
        }
      }
      for (const std::size_t host : std::exchange(prober_.web_checks, {})) prober_.web_answers(host);
      for (const std::string& line : turn(now)) all.push_back(line);
    }
    return all;
  }

  ScratchDir scratch_;
  FakeProber prober_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<Watcher> watcher_;
};

TEST_F(WatcherTest, AsksEveryHostAtOnceInTheBeginning) {
  begin(config_of({"pinchot", "leopold", "darwin"}));
  turn(100);
  EXPECT_EQ(prober_.probes.size(), 3U);
  EXPECT_EQ(prober_.web_checks.size(), 3U);
}

TEST_F(WatcherTest, LogsWhatIsSetByHandAndWhatEndsByItself) {
  begin_up(config_of({"pinchot", "leopold"}));
  ASSERT_TRUE(table_->set_by_hand({{{.duty = Duty::draining}, {.duty = Duty::off, .until = at(102)}}, std::nullopt},
                                  table_->words_by_hand()));
  EXPECT_EQ(run(101, 101.5), (Lines{"host draining pinchot: set by hand", "host off leopold: set by hand"}));
  EXPECT_EQ(run(101.5, 102.5), (Lines{"host ready leopold: its time is over"}));
  ASSERT_TRUE(table_->set_by_hand({{{}, {}}, std::nullopt}, table_->words_by_hand()));
  EXPECT_EQ(run(102.5, 103), (Lines{"host ready pinchot: set by hand"}));
}

TEST_F(WatcherTest, AsksAHostThatIsDrainingForItsMapProcesses) {
  begin_up(config_of({"pinchot", "leopold"}));
  ASSERT_TRUE(table_->set_by_hand({{{.duty = Duty::draining}, {}}, std::nullopt}, table_->words_by_hand()));
  run(101, 101.5);
  std::vector<bool> asked(2);
  for (double now = 101.5; now < 102; now += 0.05) {
    turn(now);
    for (const ProbeQuestion& question : std::exchange(prober_.probes, {})) {
      asked[question.host] = question.map_processes;
      Report report = running(1);
      report.map_running = 3;
      prober_.report(question.host, report);
    }
  }
  EXPECT_TRUE(asked[0]);
  EXPECT_FALSE(asked[1]);
  EXPECT_EQ(table_->standing(0)->map_running, 3);
}

TEST_F(WatcherTest, AHostThatWasOffByHandStartsSlowlyWhenItIsReady) {
  begin_up(config_of({"pinchot"}));
  ASSERT_TRUE(table_->set_by_hand({{{.duty = Duty::off}}, std::nullopt}, table_->words_by_hand()));
  run(101, 120);
  EXPECT_EQ(table_->standing(0)->up_since, base::kNever);
  ASSERT_TRUE(table_->set_by_hand({{{}}, std::nullopt}, table_->words_by_hand()));
  run(120, 120.5);
  EXPECT_NEAR(table_->standing(0)->up_since.time_since_epoch().count(), 120, 0.2);
}

TEST_F(WatcherTest, DrainedHostsAreNeitherSilentNorPartOfAPanic) {
  begin_up(config_of({"pinchot", "leopold", "darwin"}));
  ASSERT_TRUE(
      table_->set_by_hand({{{.duty = Duty::draining}, {}, {.weight = 0}}, std::nullopt}, table_->words_by_hand()));
  EXPECT_EQ(run(101, 110, 0), (Lines{"host draining pinchot: set by hand"}));
  EXPECT_FALSE(watcher_->pool().panic);
}

TEST_F(WatcherTest, HasOneProbeOfAHostUnderWayAtATime) {
  begin(config_of({"pinchot"}));
  for (int i = 0; i < 100; ++i) turn(100 + i * 0.1);
  EXPECT_EQ(prober_.probes.size(), 1U);
  EXPECT_EQ(prober_.web_checks.size(), 1U);
}

TEST_F(WatcherTest, AsksFourTimesASecondAndTheWebPortOnce) {
  begin_up(config_of({"pinchot"}));
  std::size_t probes = 0, checks = 0;
  for (double now = 101; now < 110.999; now += 0.01) {
    turn(now);
    probes += prober_.probes.size();
    checks += prober_.web_checks.size();
    for (const ProbeQuestion& question : std::exchange(prober_.probes, {})) prober_.report(question.host, running(1));
    for (const std::size_t host : std::exchange(prober_.web_checks, {})) prober_.web_answers(host);
  }
  EXPECT_NEAR(static_cast<double>(probes), 40, 1);
  EXPECT_NEAR(static_cast<double>(checks), 10, 1);
}

TEST_F(WatcherTest, SpreadsTheHostsOverTheInterval) {
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) names.push_back("h" + std::to_string(i));
  begin_up(config_of(names));
  std::size_t most = 0;
  for (double now = 101; now < 102; now += 0.01) {
    turn(now);
    if (now > 101.3) most = std::max(most, prober_.probes.size());
    for (const ProbeQuestion& question : std::exchange(prober_.probes, {})) prober_.report(question.host, running(1));
  }
  EXPECT_LE(most, 2U);
}

TEST_F(WatcherTest, NeverProbesAHostWithoutAProbe) {
  Config config = config_of({"pinchot"});
  config.hosts[0].probe = ProbeKind::none;
  begin(std::move(config));
  for (int i = 0; i < 50; ++i) turn(100 + i * 0.1);
  EXPECT_TRUE(prober_.probes.empty());
  EXPECT_EQ(prober_.web_checks.size(), 1U);
}

TEST_F(WatcherTest, TellsWhoAsksAndHowManyItSent) {
  begin(config_of({"pinchot"}));
  for (int i = 0; i < 3; ++i) table_->dispatch(0, at(100), [](Prediction seen) { return seen; });
  turn(100);
  ASSERT_EQ(prober_.probes.size(), 1U);
  EXPECT_EQ(prober_.probes[0].balancer, table_->balancer_id());
  EXPECT_EQ(prober_.probes[0].dispatched, 3U);
}

TEST_F(WatcherTest, PutsAReportIntoTheTable) {
  begin(config_of({"pinchot"}));
  turn(100);
  prober_.report(0, running(3, 2.5));
  EXPECT_EQ(turn(100.01), Lines{"host up pinchot: first answer"});
  const std::optional<Standing> standing = table_->standing(0);
  ASSERT_TRUE(standing);
  EXPECT_EQ(standing->health, Health::up);
  EXPECT_EQ(standing->cores, 2.5);
  EXPECT_EQ(standing->running, 3.0);
  EXPECT_EQ(standing->reported, at(100.01));
}

TEST_F(WatcherTest, SetsThePredictionToWhatTheHostReports) {
  begin(config_of({"pinchot"}));
  turn(100);
  prober_.report(0, running(7));
  turn(100.01);
  EXPECT_NEAR(table_->live(0, at(100.01)).prediction.requests, 7, 1e-6);
}

TEST_F(WatcherTest, AddsWhatWasSentWhileTheReportWasOnItsWay) {
  begin(config_of({"pinchot"}));
  table_->dispatch(0, at(99), [](Prediction seen) { return seen; });
  turn(100);
  for (int i = 0; i < 2; ++i) table_->dispatch(0, at(100), [](Prediction seen) { return seen; });
  prober_.report(0, running(7));
  turn(100.01);
  EXPECT_NEAR(table_->live(0, at(100.01)).prediction.requests, 9, 1e-6);
}

TEST_F(WatcherTest, SaysOnceThatAHostIsDownAndWhy) {
  begin_up(config_of({"pinchot", "leopold"}));
  prober_.fail_probe(1, Failure::refused, "connection refused");
  EXPECT_EQ(turn(100.3), Lines{"host down leopold: probe port: connection refused"});
  EXPECT_EQ(table_->standing(1)->health, Health::down);
  prober_.fail_probe(1, Failure::refused, "connection refused");
  EXPECT_EQ(turn(100.6), Lines{});
}

TEST_F(WatcherTest, ALiveProbeBesideADeadWebServerIsADeadHost) {
  begin_up(config_of({"pinchot"}));
  prober_.fail_web(0, Failure::refused, "connection refused");
  prober_.report(0, running(1));
  EXPECT_EQ(turn(100.3), Lines{"host down pinchot: web port: connection refused"});
  EXPECT_EQ(table_->standing(0)->health, Health::down);
}

TEST_F(WatcherTest, BelievesAHostAgainAfterTwoGoodReports) {
  begin_up(config_of({"pinchot", "leopold"}));
  prober_.fail_probe(0, Failure::reset, "connection reset");
  turn(100.3);
  prober_.report(0, running(1));
  EXPECT_EQ(turn(100.5), Lines{});
  EXPECT_EQ(table_->standing(0)->health, Health::down);
  prober_.report(0, running(1));
  EXPECT_EQ(turn(100.75), Lines{"host up pinchot: answers again"});
}

TEST_F(WatcherTest, SaysThatWebPortsAloneAreLeft) {
  begin_up(config_of({"pinchot", "leopold"}));
  prober_.fail_probe(0, Failure::refused, "connection refused");
  EXPECT_EQ(turn(100.3), Lines{"host down pinchot: probe port: connection refused"});
  EXPECT_FALSE(table_->pool()->web_only);
  prober_.fail_probe(1, Failure::refused, "connection refused");
  EXPECT_EQ(turn(100.6), (Lines{"host down leopold: probe port: connection refused",
                                "web ports alone: no host is left but those whose probe port refuses and whose web "
                                "port answers: by weight"}));
  EXPECT_TRUE(table_->pool()->web_only);
  prober_.fail_web(0, Failure::refused, "connection refused");
  prober_.fail_web(1, Failure::refused, "connection refused");
  EXPECT_EQ(turn(100.9), Lines{"web ports alone over: no host is chosen for its web port alone any more"});
}

TEST_F(WatcherTest, AHostThatSaysItDrainsIsOutAtOnce) {
  begin_up(config_of({"pinchot"}));
  Report report = running(1);
  report.duty = Duty::draining;
  report.reason = "kernel update";
  prober_.report(0, report);
  EXPECT_EQ(turn(100.3), Lines{"host draining pinchot: kernel update"});
  EXPECT_EQ(table_->standing(0)->duty, Duty::draining);
}

TEST_F(WatcherTest, OneLateAnswerIsNoNews) {
  begin_up(config_of({"pinchot", "leopold", "darwin"}));
  EXPECT_EQ(run(100.15, 101.5, 2), Lines{});
}

TEST_F(WatcherTest, SaysOnceThatAHostHasFallenSilent) {
  begin_up(config_of({"pinchot", "leopold", "darwin"}));
  EXPECT_EQ(run(100.15, 110, 2), Lines{"host silent darwin: probe port: no answer within 500ms"});
}

TEST_F(WatcherTest, SilenceIsOverWithTheNextReport) {
  begin_up(config_of({"pinchot", "leopold", "darwin"}));
  run(100.15, 110, 2);
  EXPECT_EQ(run(110, 112), Lines{"host up darwin: reports again"});
}

TEST_F(WatcherTest, SilenceOfMostHostsIsAPanic) {
  begin_up(config_of({"pinchot", "leopold", "darwin"}));
  for (double now = 100.15; now < 103; now += 0.05) {
    turn(now);
    for (const ProbeQuestion& question : std::exchange(prober_.probes, {})) {
      prober_.fail_probe(question.host, Failure::timeout, "no answer within 500ms");
    }
    for (const std::size_t host : std::exchange(prober_.web_checks, {})) prober_.web_answers(host);
  }
  EXPECT_TRUE(watcher_->pool().panic);
  EXPECT_TRUE(table_->pool()->panic);
}

TEST_F(WatcherTest, SaysThatAPanicIsOver) {
  begin_up(config_of({"pinchot", "leopold", "darwin"}));
  Lines all;
  for (double now = 100.15; now < 103; now += 0.05) {
    for (const std::string& line : turn(now)) all.push_back(line);
    for (const ProbeQuestion& question : std::exchange(prober_.probes, {})) {
      prober_.fail_probe(question.host, Failure::timeout, "no answer within 500ms");
    }
    for (const std::size_t host : std::exchange(prober_.web_checks, {})) prober_.web_answers(host);
  }
  EXPECT_EQ(all.back(), "panic: more than 50% of the probed serving hosts are silent");
  const Lines after = run(103, 106);
  EXPECT_EQ(std::count(after.begin(), after.end(), "panic over: enough hosts report again"), 1);
}

TEST_F(WatcherTest, BeatsTenTimesASecondWhateverHappens) {
  begin_up(config_of({"pinchot"}));
  for (double now = 100.2; now < 105; now += 0.1) {
    turn(now);
    EXPECT_GE(table_->pool()->beat, at(now - 0.101));
  }
}

TEST_F(WatcherTest, WakesForTheBeatWhereNothingIsDue) {
  begin_up(config_of({"pinchot"}));
  EXPECT_LE(watcher_->wake(), at(100.2051));
}

TEST_F(WatcherTest, AThousandHostsDoNotWakeItForEachOfThem) {
  Config config = config_of({"pinchot"});
  config.hosts.resize(1000, config.hosts.front());
  begin(config);
  turn(100);
  for (std::size_t i = 0; i < 1000; ++i) prober_.report(i, running(1));
  int turns = 0;
  for (Instant now = at(100.001); now < at(100.201); now = watcher_->wake()) {
    (void)watcher_->turn(now);
    ++turns;
  }
  EXPECT_GE(turns, 40);
  EXPECT_LE(turns, 52);
}

TEST_F(WatcherTest, DoesNotBeatBeforeEveryoneHadTheTimeToAnswer) {
  begin(config_of({"pinchot", "leopold"}));
  turn(100);
  prober_.report(0, running(1));
  turn(100.2);
  EXPECT_EQ(table_->pool()->beat, base::kNever);
  turn(101.01);
  EXPECT_EQ(table_->pool()->beat, at(101.01));
}

TEST_F(WatcherTest, LeavesWhatAnEarlierOneSaidUntilItKnowsBetter) {
  const Config config = config_of({"pinchot", "leopold"});
  begin(config);
  Standing down;
  down.health = Health::down;
  down.cause = "probe port: connection refused";
  table_->publish(1, down);
  Watcher next(config, prober_, *table_, at(200));
  next.turn(at(200));
  prober_.report(0, running(1));
  next.turn(at(200.1));
  EXPECT_EQ(table_->standing(1)->health, Health::down);
}

TEST_F(WatcherTest, ALongStandstillMakesNobodySilent) {
  begin_up(config_of({"pinchot", "leopold"}));
  EXPECT_EQ(turn(200), Lines{});
  EXPECT_EQ(run(200.05, 205), Lines{});
}

TEST_F(WatcherTest, PublishesEverythingIntoATableThatTookThePlaceOfTheOld) {
  begin_up(config_of({"pinchot", "leopold"}));
  base::Result<Table> other = Table::create(scratch_ / "other.table", TableShape{1, 2, "boot"});
  ASSERT_TRUE(other);
  watcher_->use(*other);
  EXPECT_EQ(other->standing(1)->health, Health::up);
  EXPECT_EQ(other->pool()->beat, table_->pool()->beat);
}

TEST_F(WatcherTest, KeepsWhatItKnowsOfHostsThatStay) {
  begin_up(config_of({"pinchot", "leopold"}));
  prober_.fail_probe(1, Failure::refused, "connection refused");
  turn(100.3);
  const Config changed = config_of({"darwin", "leopold"});
  Watcher next(changed, prober_, *table_, at(101), *watcher_, places_before(changed, watcher_->config()));
  EXPECT_EQ(next.standings()[0].health, Health::unknown);
  EXPECT_EQ(next.standings()[1].health, Health::down);
}

TEST_F(WatcherTest, KnowsNothingOfAHostThatMoved) {
  const Config before = config_of({"pinchot", "leopold"});
  Config after = before;
  after.hosts[1].inside.port = 8080;
  const std::vector<std::optional<std::size_t>> places = places_before(after, before);
  EXPECT_EQ(places[0], 0U);
  EXPECT_EQ(places[1], std::nullopt);
}

TEST_F(WatcherTest, AHostAddedWhileRunningIsNotCalledSilentBeforeItWasAsked) {
  begin_up(config_of({"pinchot"}));
  run(100.15, 110);
  const Config changed = config_of({"pinchot", "leopold"});
  *watcher_ = Watcher(changed, prober_, *table_, at(110), *watcher_, places_before(changed, watcher_->config()));
  prober_.web_answers(1);
  EXPECT_EQ(turn(110), Lines{});
  prober_.report(1, running(1));
  EXPECT_EQ(turn(110.1), Lines{"host up leopold: first answer"});
}

TEST_F(WatcherTest, AsksInPhasesAfterAChangeOfTheConfiguration) {
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) names.push_back("h" + std::to_string(i));
  const Config config = config_of(names);
  begin_up(config);
  *watcher_ = Watcher(config, prober_, *table_, at(101), *watcher_, places_before(config, config));
  run(101, 101.5);
  std::size_t most = 0;
  for (double now = 101.5; now < 102.5; now += 0.01) {
    turn(now);
    if (now > 101.8) most = std::max(most, prober_.probes.size());
    for (const ProbeQuestion& question : std::exchange(prober_.probes, {})) prober_.report(question.host, running(1));
  }
  EXPECT_LE(most, 2U);
}

}  // namespace
}  // namespace balance
