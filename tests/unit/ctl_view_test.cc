// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "balance/ctl/find_table.h"
#include "balance/ctl/view.h"
#include "balance/pool/decision.h"
#include "tests/unit/requests.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"

namespace balance {
namespace {

constexpr Instant kNow{Seconds{1000}};

Config two_hosts() {
  Config config = config_of("",
                            "host = pinchot http://pinchot.example.org:8080\n"
                            "host = leopold http://leopold.example.org:8080 weight=2 cores=8\n");
  config.file = "/etc/balance/balance.conf";
  return config;
}

Table table_at(const std::string& path, const Config& config, Instant beat) {
  Table table = make_table(path, config);
  Standing up = healthy(beat);
  up.web = WebPort::answers;
  up.running = 2;
  table.publish(0, up);
  Standing down;
  down.health = Health::down;
  down.web = WebPort::refused;
  down.cause = "web port: connection refused";
  table.publish(1, down);
  table.publish(PoolStanding{.beat = beat, .started = beat - Seconds{60}, .share = 0.5});
  for (int i = 0; i < 3; ++i) table.dispatch(0, beat, [](Prediction p) { return p; });
  table.dispatch(1, beat, [](Prediction p) { return p; });
  return table;
}

PoolView seen(const Config& config, const Table& table) {
  PoolView view = view_of(config, table, nullptr, kNow);
  view.table = "/run/balance/balance.conf.table";
  view.lease = {.holding = Holding::held, .process = 123};
  return view;
}

TEST(Status, CountsTheClientsThatStay) {
  ScratchDir dir;
  Config config = two_hosts();
  config.sticky.kind = Sticky::client;
  Table table = table_at(dir / "t", config, kNow);
  for (const char* const address : {"192.0.2.1", "192.0.2.2", "192.0.2.3"}) {
    table.claim_client(sticky_key(*base::parse_address(address)), 0, std::nullopt, kNow, Seconds{60});
  }
  table.claim_client(sticky_key(*base::parse_address("192.0.2.4")), 1, std::nullopt, kNow - Seconds{60}, Seconds{60});
  const std::string text = to_text(seen(config, table));
  EXPECT_NE(text.find("\nsticky     client, for 1m after the last request; 3 clients: pinchot 3\n"), std::string::npos)
      << text;
  const std::string json = to_json(seen(config, table));
  EXPECT_NE(json.find("\"sticky\": \"client\", \"sticky_timeout_seconds\": 60"), std::string::npos) << json;
  EXPECT_NE(json.find("\"clients\": 3"), std::string::npos) << json;
  EXPECT_NE(json.find("\"clients\": 0"), std::string::npos) << json;
}

TEST(Status, ShowsThePoolAndALineAHost) {
  ScratchDir dir;
  const Config config = two_hosts();
  const Table table = table_at(dir / "t", config, kNow - Seconds{0.25});
  EXPECT_EQ(to_text(seen(config, table)),
            "table      /run/balance/balance.conf.table\n"
            "poolwatch  alive (process 123, for 60s)\n"
            "pool       2 hosts: 1 usable, 1 down; panic no; 50.0% of all dispatches are ours; mean service time "
            "0.200s\n"
            "\n"
            "HOST     STATE   DUTY     SET BY  WEIGHT  CORES  RUNNING  WAITING  PREDICTED  DISPATCHES  SHARE  WEB      "
            "  AGE  "
            "CAUSE\n"
            "pinchot  usable  serving  -            1      4        2        -       0.00           3  75.0%  answers  "
            " 0.2s\n"
            "leopold  down    serving  -            2      8        -        -       0.00           1  25.0%  refused  "
            "never  "
            "web port: connection refused\n");
}

TEST(Status, FlagsThatWebPortsAreAllThatAnswers) {
  ScratchDir dir;
  const Config config = two_hosts();
  Table table = table_at(dir / "t", config, kNow);
  Standing refusing;
  refusing.health = Health::down;
  refusing.web = WebPort::answers;
  refusing.probe_refused = true;
  for (std::size_t host = 0; host < 2; ++host) table.publish(host, refusing);
  table.publish(PoolStanding{.beat = kNow, .started = kNow - Seconds{60}, .web_only = true});
  const std::string text = to_text(seen(config, table));
  EXPECT_NE(text.find("pool       2 hosts: 2 web only; NO HOST REPORTS: "), std::string::npos) << text;
}

TEST(Status, SaysThatClientsGet503WhereNobodyServes) {
  ScratchDir dir;
  const Config config = two_hosts();
  Table table = table_at(dir / "t", config, kNow);  // pinchot up, leopold down
  EXPECT_EQ(to_text(seen(config, table)).find("NO HOST SERVES"), std::string::npos);
  SetByHand drained;
  drained.hosts = {ByHand{.duty = Duty::draining}, ByHand{}};
  EXPECT_TRUE(table.set_by_hand(drained, table.words_by_hand()));
  const std::string text = to_text(seen(config, table));
  EXPECT_NE(text.find("pool       2 hosts: 1 draining, 1 down; NO HOST SERVES: new clients get 503; "),
            std::string::npos)
      << text;
}

TEST(Status, SharesAreThoseSinceTheEarlierView) {
  ScratchDir dir;
  const Config config = two_hosts();
  Table table = table_at(dir / "t", config, kNow);
  const PoolView earlier = view_of(config, table, nullptr, kNow - Seconds{2});
  table.dispatch(1, kNow, [](Prediction p) { return p; });
  const PoolView view = view_of(config, table, &earlier, kNow);
  EXPECT_EQ(view.hosts[0].share, 0);
  EXPECT_EQ(view.hosts[1].share, 1);
  EXPECT_NE(to_text(view).find("(shares of the last 2.0s)"), std::string::npos);
}

TEST(Status, WithoutDispatchesTheSharesAreZero) {
  ScratchDir dir;
  const Config config = two_hosts();
  const base::Result<Table> table = Table::create(dir / "t", shape_of(config));
  ASSERT_TRUE(table);
  const PoolView view = view_of(config, *table, nullptr, kNow);
  EXPECT_EQ(view.hosts[0].share, 0);
  EXPECT_EQ(view.beat_age, std::nullopt);
  EXPECT_FALSE(view.watched);
}

TEST(Status, SaysWhetherPoolwatchIsAlive) {
  PoolView view;
  view.watched = true;
  view.beat_age = Seconds{0.1};
  view.watched_for = Seconds{7200};
  view.lease = {.holding = Holding::held, .process = 123};
  EXPECT_EQ(poolwatch_text(view), "alive (process 123, for 2h)");
  EXPECT_TRUE(is_alive(view));
  view.lease = {.holding = Holding::unknown, .process = std::nullopt};
  EXPECT_EQ(poolwatch_text(view), "alive (last sign of life 0.1s ago)");
  EXPECT_TRUE(is_alive(view));
  view.lease = {.holding = Holding::free, .process = std::nullopt};
  EXPECT_EQ(poolwatch_text(view), "NOT RUNNING (last sign of life 0.1s ago)");
  EXPECT_FALSE(is_alive(view));
  view.watched = false;
  view.beat_age = Seconds{12};
  EXPECT_EQ(poolwatch_text(view), "NOT RUNNING (last sign of life 12s ago); hosts are chosen by weight");
  view.lease = {.holding = Holding::held, .process = 123};
  EXPECT_EQ(poolwatch_text(view), "HANGS (last sign of life 12s ago), though process 123 holds the lease");
  EXPECT_FALSE(is_alive(view));
}

TEST(Status, JsonHasNullsForWhatIsNotKnown) {
  ScratchDir dir;
  const Config config = two_hosts();
  const Table table = table_at(dir / "t", config, kNow - Seconds{0.25});
  PoolView view = seen(config, table);
  view.balancer_id = 0xabc;
  EXPECT_EQ(
      to_json(view),
      R"({"table": "/run/balance/balance.conf.table", "configuration": "/etc/balance/balance.conf", "faults": [], )"
      R"("balancer": "0000000000000abc",
 "poolwatch": {"alive": true, "process": 123, "beat_age_seconds": 0.25, "running_for_seconds": 60.25},
 "panic": false, "web_only": false, "share_of_dispatches": 0.5, "mean_service_seconds": 0.2, "sticky": "none", "sticky_timeout_seconds": 60, "shares_since_seconds": null,
 "by_hand": {"file": null, "entries": [], "troubles": []},
 "hosts": [
  {"name": "pinchot", "tier": "usable", "health": "up", "duty": "serving", "duty_set_by": null, "reason": "", )"
      R"("left_seconds": null, "weight": 1, "configured_weight": 1, "weight_set_by_hand": false, "cores": 4, "running": 2, )"
      R"("waiting": null, "load1": null, "background": 0, "predicted": 0, "mean_service_seconds": 0.2, )"
      R"("in_flight": 0, "dispatches": 3, "share": 0.75, "clients": null, "web": "answers", "age_seconds": 0.25, "cause": ""},
  {"name": "leopold", "tier": "down", "health": "down", "duty": "serving", "duty_set_by": null, "reason": "", )"
      R"("left_seconds": null, "weight": 2, "configured_weight": 2, "weight_set_by_hand": false, "cores": 8, )"
      R"("running": null, "waiting": null, "load1": null, "background": 0, "predicted": 0, )"
      R"("mean_service_seconds": 0.2, "in_flight": 0, "dispatches": 1, "share": 0.25, "clients": null, "web": "refused", "age_seconds": null, )"
      R"("cause": "web port: connection refused"}]}
)");
}

TEST(Status, ShowsWhatWasSetByHandAndWhatTheHostItselfSays) {
  ScratchDir dir;
  const Config config = two_hosts();
  Table table = table_at(dir / "t", config, kNow);
  Standing draining;
  draining.health = Health::up;
  draining.duty = Duty::draining;
  draining.reported = kNow;
  draining.cause = "disk swap";
  table.publish(1, draining);
  ASSERT_TRUE(table.set_by_hand(
      SetByHand{{{.weight = 2.5, .duty = Duty::off, .until = kNow + Seconds{7200}}, {}}, true}, table.words_by_hand()));
  const HandView by_hand{.path = "/var/lib/balance/balance.conf.byhand",
                         .entries = {{.host = "pinchot",
                                      .weight = 2.5,
                                      .duty = Duty::off,
                                      .since = 1796036400,
                                      .until = 1796043600,
                                      .reason = "kernel update"}},
                         .troubles = {"something is wrong"}};
  const PoolView view = view_of(config, table, by_hand, nullptr, kNow);
  EXPECT_EQ(view.hosts[0].duty_by, SetBy::hand);
  EXPECT_EQ(view.hosts[0].reason, "kernel update");
  EXPECT_EQ(view.hosts[1].duty_by, SetBy::host);
  EXPECT_EQ(view.hosts[1].reason, "disk swap");
  const std::string text = to_text(view);
  EXPECT_NE(text.find("pinchot  out       off       hand    2.5 (1)"), std::string::npos) << text;
  EXPECT_NE(text.find("by hand, 2h left: kernel update"), std::string::npos) << text;
  EXPECT_NE(text.find("leopold  draining  draining  host          2"), std::string::npos) << text;
  EXPECT_EQ(to_text(by_hand, config, Seconds{1796036400}),
            "by hand    pinchot weight 2.5 (configured: 1), off since 2026-11-30T11:00:00Z, 2h left: kernel update\n"
            "           (kept in /var/lib/balance/balance.conf.byhand)\n"
            "           WARNING: something is wrong\n");
  const std::string json = to_json(view);
  EXPECT_NE(json.find(R"("duty": "off", "duty_set_by": "hand", "reason": "kernel update", "left_seconds": 7200)"),
            std::string::npos)
      << json;
  EXPECT_NE(
      json.find(R"("entries": [{"host": "pinchot", "weight": 2.5, "duty": "off", "since": "2026-11-30T11:00:00Z")"),
      std::string::npos)
      << json;
}

TEST(Status, AWeightOfZeroSaysThatItDrains) {
  ScratchDir dir;
  const Config config = two_hosts();
  Table table = table_at(dir / "t", config, kNow);
  ASSERT_TRUE(table.set_by_hand(SetByHand{{{.weight = 0}, {}}, false}, table.words_by_hand()));
  const PoolView view = view_of(config, table, nullptr, kNow);
  EXPECT_EQ(view.hosts[0].duty, Duty::draining);
  EXPECT_EQ(view.hosts[0].duty_by, SetBy::weight);
  EXPECT_NE(to_text(view).find("0 (1)"), std::string::npos);
}

TEST(FindTable, NoneIsExplained) {
  ScratchDir dir;
  Config config = two_hosts();
  config.state_dir = dir.path();
  TableSearch search = find_table(config, StateRoots{}, "boot");
  EXPECT_FALSE(search.found);
  EXPECT_EQ(why_none(search),
            "no table of this configuration in " + dir.path() + " or any other place this user may look at");
  table_at(dir / "balance.conf.table", config, kNow);
  search = find_table(config, StateRoots{}, "another boot");
  EXPECT_FALSE(search.found);
  EXPECT_EQ(why_none(search),
            "no table of this configuration; " + (dir / "balance.conf.table") + ": is of another boot");
  EXPECT_TRUE(find_table(config, StateRoots{}, "boot").found);
}

TEST(FindTable, WhoMayNotLookIsNotToldThatPoolwatchIsGone) {
  TableSearch search;
  search.directory = "/run/balance";
  EXPECT_EQ(poolwatch_without_table(search), "NOT RUNNING");
  search.is_hidden = true;
  EXPECT_EQ(poolwatch_without_table(search),
            "unknown (this user may not look into /run/balance; ask as root, or as a member of its group)");
}

TEST(FindTable, AnotherConfigurationOfTheSameBaseNameIsNamed) {
  ScratchDir dir;
  Config config = two_hosts();
  config.state_dir = dir.path();
  const base::Result<Lease> lease = Lease::take(dir / "balance.conf.lease", "/elsewhere/balance.conf");
  ASSERT_TRUE(lease);
  const TableSearch search = find_table(config, StateRoots{}, "boot");
  EXPECT_EQ(
      poolwatch_without_table(search),
      "NOT RUNNING for this configuration (" + (dir / "balance.conf.lease") +
          ": is held for /elsewhere/balance.conf, and /etc/balance/balance.conf has the same base name; wanted another "
          "state-dir or another name for one of the two)");
}

TEST(FindTable, AHolderThatHasMadeNoTableYetBegins) {
  ScratchDir dir;
  Config config = two_hosts();
  config.state_dir = dir.path();
  const base::Result<Lease> lease = Lease::take(dir / "balance.conf.lease", "/etc/balance/balance.conf");
  ASSERT_TRUE(lease);
  EXPECT_EQ(poolwatch_without_table(find_table(config, StateRoots{}, "boot")),
            "begins (process " + std::to_string(getpid()) +
                " holds the lease, and has made no table of this configuration yet)");
}

TEST(FindTable, TheFreshestIsTakenAndTheOtherNamed) {
  ScratchDir dir;
  const Config config = two_hosts();
  const StateRoots roots{.standard = dir / "run", .temporary = dir / "tmp", .user = geteuid()};
  const std::string own = dir / ("tmp/balance-" + std::to_string(geteuid()));
  ASSERT_EQ(mkdir((dir / "run").c_str(), 0755), 0);
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  ASSERT_EQ(mkdir(own.c_str(), 0700), 0);
  table_at(dir / "run/balance.conf.table", config, kNow - Seconds{100});
  table_at(own + "/balance.conf.table", config, kNow);
  const TableSearch search = find_table(config, roots, "boot");
  ASSERT_TRUE(search.found);
  EXPECT_EQ(search.found->files.table, own + "/balance.conf.table");
  EXPECT_EQ(search.others, std::vector<std::string>{dir / "run/balance.conf.table"});
}

TEST(Status, AHostThatRelaysFoundFailingSaysSoAndWhy) {
  ScratchDir dir;
  base::Result<Config> config = parse_config("host = pinchot http://pinchot.example.org\n", "/balance.conf");
  ASSERT_TRUE(config);
  base::Result<Table> table =
      Table::create(dir / "t", {.fingerprint = config->fingerprint, .hosts = 1, .boot_id = "boot"});
  ASSERT_TRUE(table);
  constexpr Instant kAsked{Seconds{1000}};
  table->note_end(0, Relayed::no_connection, kAsked);
  const PoolView view = view_of(*config, *table, nullptr, kAsked);
  EXPECT_EQ(view.hosts.front().tier, Tier::failed);
  EXPECT_EQ(view.hosts.front().standing.cause, "relayed requests: no connection");
  EXPECT_NE(to_text(view).find("1 failed"), std::string::npos);
  EXPECT_NE(to_text(view).find("pinchot  failed"), std::string::npos) << to_text(view);
}

}  // namespace
}  // namespace balance
