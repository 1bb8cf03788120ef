// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "balance/ctl/command_line.h"

namespace balance {
namespace {

using Words = std::vector<std::string>;

Command read(const Words& words) {
  base::Result<Command> command = parse_command_line(words);
  EXPECT_TRUE(command) << (command ? "" : command.error().what);
  return command ? *std::move(command) : Command{};
}

std::string refused(const Words& words) {
  const base::Result<Command> command = parse_command_line(words);
  EXPECT_FALSE(command);
  if (command) return "";
  EXPECT_EQ(command.error().fault, base::Fault::usage);
  return command.error().what;
}

TEST(CommandLine, VerbsAreKnown) {
  EXPECT_EQ(read({"status"}).verb, Verb::status);
  EXPECT_EQ(read({"check"}).verb, Verb::check);
  EXPECT_EQ(read({"list"}).verb, Verb::list);
  EXPECT_EQ(read({"explain", "mode=map"}).verb, Verb::explain);
  EXPECT_EQ(read({"--help"}).verb, Verb::help);
  EXPECT_EQ(read({"--version"}).verb, Verb::version);
}

TEST(CommandLine, TheConfigurationIsNamedBeforeOrAfterTheVerb) {
  EXPECT_EQ(read({"--config", "a.conf", "list"}).config, "a.conf");
  EXPECT_EQ(read({"list", "--config=a.conf"}).config, "a.conf");
  EXPECT_EQ(read({"list"}).config, "");
}

TEST(CommandLine, WatchTakesItsSecondsAsAWordOrBehindAnEqualsSignOrNotAtAll) {
  EXPECT_EQ(read({"status"}).watch, std::nullopt);
  EXPECT_EQ(read({"status", "--watch"}).watch, base::Seconds{2});
  EXPECT_EQ(read({"status", "--watch", "0.5"}).watch, base::Seconds{0.5});
  EXPECT_EQ(read({"status", "--watch=250ms"}).watch, base::Seconds{0.25});
  const Command command = read({"status", "--watch", "1", "--count", "3", "--json"});
  EXPECT_EQ(command.watch, base::Seconds{1});
  EXPECT_EQ(command.redraws, std::optional<std::uint64_t>(3));
  EXPECT_EQ(command.form, Form::json);
}

TEST(CommandLine, AnInquiryIsReadWhole) {
  const Inquiry inquiry =
      read({"explain", "--method", "POST", "--https", "--host", "h:1", "--path-info", "/p", "--client", "192.0.2.1",
            "--cookie", "c=d", "--origin", "http://o", "--authorization", "a=b"})
          .inquiry;
  EXPECT_EQ(inquiry.query, "a=b");
  EXPECT_EQ(inquiry.method, "POST");
  EXPECT_TRUE(inquiry.https);
  EXPECT_EQ(inquiry.host, "h:1");
  EXPECT_EQ(inquiry.path_info, "/p");
  EXPECT_EQ(inquiry.client, "192.0.2.1");
  EXPECT_EQ(inquiry.cookie, "c=d");
  EXPECT_EQ(inquiry.origin, "http://o");
  EXPECT_TRUE(inquiry.with_credentials);
}

TEST(CommandLine, AQueryThatBeginsWithADashComesAfterTwoDashes) {
  EXPECT_EQ(read({"explain", "--", "-x=1"}).inquiry.query, "-x=1");
}

TEST(CommandLine, WeightsAndDutiesAreReadWhole) {
  const Command weight = read({"weight", "pinchot", "leopold", "2.5"});
  EXPECT_EQ(weight.verb, Verb::weight);
  EXPECT_EQ(weight.hosts, (Words{"pinchot", "leopold"}));
  EXPECT_EQ(weight.weight, 2.5);
  EXPECT_EQ(read({"weight", "pinchot", "0"}).weight, 0);
  EXPECT_EQ(read({"reset", "pinchot"}).verb, Verb::reset);
  const Command drain =
      read({"drain", "pinchot", "--reason", "kernel update", "--for", "2h", "--wait", "--timeout=5m"});
  EXPECT_EQ(drain.verb, Verb::duty);
  EXPECT_EQ(drain.duty, Duty::draining);
  EXPECT_EQ(drain.reason, "kernel update");
  EXPECT_EQ(drain.lasts, base::Seconds{7200});
  EXPECT_TRUE(drain.wait);
  EXPECT_EQ(drain.timeout, base::Seconds{300});
  EXPECT_EQ(read({"off", "pinchot"}).duty, Duty::off);
  EXPECT_EQ(read({"ready", "pinchot", "--reason", "done"}).duty, Duty::serving);
}

TEST(CommandLine, WhatIsWrongWithAWeightOrADutyIsNamed) {
  EXPECT_EQ(refused({"weight", "pinchot"}), "weight takes a host and its weight: balancectl weight pinchot 2");
  EXPECT_EQ(refused({"weight", "pinchot", "1001"}),
            "the weight is '1001'; wanted 0 to 1000, with at most six digits behind the point");
  EXPECT_EQ(refused({"drain"}), "drain names no host; wanted at least one");
  EXPECT_EQ(refused({"drain", "a", "--for", "soon"}).substr(0, 7), "--for: ");
  EXPECT_EQ(refused({"drain", "a", "--for", "0s"}), "--for is 0; wanted more");
  EXPECT_EQ(refused({"drain", "a", "--timeout", "5m"}), "--timeout is of use with --wait only");
  EXPECT_EQ(refused({"ready", "a", "--wait"}), "--wait is of use with drain and off");
  EXPECT_EQ(refused({"ready", "a", "--for", "2h"}),
            "--for says how long a drain, an off or a reason lasts; a host that is ready stays so");
  EXPECT_EQ(refused({"status", "--reason", "x"}), "--reason belongs to 'drain', 'off' and 'ready'");
  EXPECT_EQ(refused({"drain", "a", "--reason", std::string(201, 'x')}), "--reason has 201 bytes; wanted at most 200");
}

TEST(CommandLine, WhatIsWrongIsNamed) {
  EXPECT_EQ(refused({}),
            "no command; wanted status, explain, check, list, weight, reset, drain, off, ready, forms or import");
  EXPECT_EQ(refused({"stauts"}), "unknown command 'stauts'; the nearest known one is 'status'");
  EXPECT_EQ(refused({"frobnicate"}),
            "unknown command 'frobnicate'; wanted status, explain, check, list, weight, reset, drain, off, ready, "
            "forms or import");
  EXPECT_EQ(refused({"from"}), "unknown command 'from'; the nearest known one is 'forms'");
  EXPECT_EQ(refused({"--config", "a.conf", "forms"}), "forms reads no configuration; wanted it as the first word");
  EXPECT_EQ(refused({"list", "more"}), "'more' is one word too many");
  EXPECT_EQ(refused({"list", "--json"}), "--json belongs to 'status'");
  EXPECT_EQ(refused({"status", "--https"}), "--https belongs to 'explain'");
  EXPECT_EQ(refused({"status", "--watch=0"}), "--watch is '0'; wanted 0.1 to 3600 seconds");
  EXPECT_EQ(refused({"status", "--watch", "nan"}), "--watch is 'nan'; wanted 0.1 to 3600 seconds");
  EXPECT_EQ(refused({"status", "--count", "2"}), "--count is of use with --watch only");
  EXPECT_EQ(refused({"status", "--watch", "--count", "0"}), "--count is '0'; wanted 1 or more");
  EXPECT_EQ(refused({"explain"}), "explain takes one query, in quotes: balancectl explain 'map=WORLD&mode=map'");
  EXPECT_EQ(refused({"explain", "--path-info", "x", "q"}), "--path-info is 'x'; wanted a '/' in front");
  EXPECT_EQ(refused({"--conf", "x", "list"}), "unrecognised option '--conf'");
}

TEST(CommandLine, UsageNamesTheConfigurationAndTheTimeoutOfAWait) {
  EXPECT_NE(usage_text().find("/balance/balance.conf"), std::string::npos) << usage_text();
  EXPECT_NE(usage_text().find("[--wait [--timeout DURATION]]"), std::string::npos) << usage_text();
}

}  // namespace
}  // namespace balance
