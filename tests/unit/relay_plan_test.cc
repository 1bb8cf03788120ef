// SPDX-License-Identifier: MIT
// What is relayed, and to whom, in the program that can.
#include <gtest/gtest.h>

#include <string>

#include "balance/ground/relay_request.h"
#include "balance/pool/decision.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

Action action(const RawRequest& raw, const std::string& lines = "") {
  const Config config = config_of(lines);
  return plan_for(request_of(raw, config), config, Relaying::built_in).action;
}
RawRequest with(RawRequest raw, std::string_view RawRequest::*field, std::string_view value) {
  raw.*field = value;
  return raw;
}
RawRequest post() { return with(get("map=WORLD"), &RawRequest::method, "POST"); }
const RawRequest kMap = get("mode=map"), kCapabilities = get("service=WMS&request=GetCapabilities");

bool ever(const std::string& lines, const std::string& hosts = "host = a https://a.example.org\n") {
  return ever_relays(config_of(lines, hosts));
}
constexpr const char* kAllRedirected =
    "answer.body = 307\nanswer.artifact = redirect\nanswer.private = redirect\nanswer.document = redirect\n"
    "answer.long = redirect\nanswer.cors = redirect\n";

// Hosts: 0 public http, 1 public https, 2 inside-only, 3 inside-only at the balancer's own address.
const std::string kMixed =
    "host = plain http://plain.example.org\nhost = safe https://safe.example.org\nhost = inner "
    "inside-only=http://10.0.0.5\n"
    "host = self inside-only=http://maps.example.org\n";

std::string targets(const RawRequest& raw, const std::string& lines = "", Relaying relaying = Relaying::built_in) {
  const Config config = config_of(lines, kMixed);
  const Request request = request_of(raw, config);
  const Plan plan = plan_for(request, config, relaying);
  std::string out;
  for (const HostConfig& host : config.hosts) {
    const Target target = target_of(request, host, config, plan);
    out.append(out.empty() ? "" : " ").append(name_of(target));
    if (target == Target::fit && action_at(request, host, config, plan) == Action::relay) out += "(relay)";
  }
  return out;
}

TEST(RelayPlan, AutoRelaysWhatARedirectWouldBreak) {
  EXPECT_EQ(action(post()), Action::relay);
  EXPECT_EQ(action(with(kMap, &RawRequest::authorization, "Basic x")), Action::relay);
  EXPECT_EQ(action(with(kMap, &RawRequest::cookie, "PHPSESSID=1")), Action::relay);
  EXPECT_EQ(action(kCapabilities), Action::relay);
  const std::string query = "mode=map&sld=" + std::string(4000, 'x');
  EXPECT_EQ(action(get(query)), Action::relay);
}

TEST(RelayPlan, AutoRedirectsTheRest) {
  EXPECT_EQ(action(kMap), Action::redirect_302);
  EXPECT_EQ(action(get("service=WFS&version=1.0.0&request=GetFeature")), Action::redirect_302);
  EXPECT_EQ(action(get("mode=browse")), Action::redirect_302);
  EXPECT_EQ(action(with(kMap, &RawRequest::method, "HEAD")), Action::redirect_302);
}

TEST(RelayPlan, AnAnswerOfItsOwnComesBeforeTheMode) {
  EXPECT_EQ(action(kMap, "answer.image = relay\n"), Action::relay);
  EXPECT_EQ(action(kMap, "answer.image = relay\nmode = redirect\n"), Action::relay);
  EXPECT_EQ(action(kCapabilities, "answer.document = redirect\nmode = relay\n"), Action::redirect_302);
  EXPECT_EQ(action(kCapabilities, "answer.document = 307\n"), Action::redirect_307);
  EXPECT_EQ(action(post(), "answer.body = 307\n"), Action::redirect_307);
}

TEST(RelayPlan, TheModesAreTheExtremes) {
  EXPECT_EQ(action(kMap, "mode = relay\n"), Action::relay);
  EXPECT_EQ(action(kCapabilities, "mode = redirect\n"), Action::redirect_302);
  EXPECT_EQ(action(post(), "mode = redirect\n"), Action::redirect_307);
  EXPECT_EQ(action(with(kMap, &RawRequest::method, "OPTIONS"), "mode = relay\n"), Action::answer_options);
}

TEST(RelayPlan, WhatGoesRoundIsAnsweredHere) {
  const std::string mark =
      relay_request(RawRequest{}, Request{}, config_of().hosts.front(), config_of()).headers.back().second;
  RawRequest raw = kCapabilities;
  raw.headers.push_back({"X_BALANCE_RELAYED_BY", mark});
  EXPECT_EQ(action(raw), Action::answer_loop);
  const Config config = config_of();
  const Request request = request_of(raw, config);
  const Plan plan = plan_for(request, config, Relaying::built_in);
  EXPECT_FALSE(needs_host(plan));
  EXPECT_EQ(decide_without_host(request, config, plan).reply.status, 508);
}

TEST(EverRelays, UnlessTheModeAndAllAnswersSayOtherwise) {
  EXPECT_TRUE(ever(""));
  EXPECT_TRUE(ever("mode = relay\n"));
  EXPECT_FALSE(ever("mode = redirect\n"));
  EXPECT_TRUE(ever("mode = redirect\nanswer.body = relay\n"));
  EXPECT_FALSE(ever(kAllRedirected));
  EXPECT_TRUE(ever(kAllRedirected, "host = a inside-only=http://10.0.0.5\n"));
  EXPECT_TRUE(ever(kAllRedirected, "host = a http://a.example.org\n"));
  EXPECT_FALSE(ever(kAllRedirected + std::string("allow-downgrade = yes\n"), "host = a http://a.example.org\n"));
}

TEST(RelaysAll, OnlyInItsModeAndWithoutOtherAnswers) {
  EXPECT_TRUE(relays_all(config_of("mode = relay\n")));
  EXPECT_TRUE(relays_all(config_of("mode = relay\nanswer.image = relay\n")));
  EXPECT_FALSE(relays_all(config_of("mode = relay\nanswer.image = redirect\n")));
  EXPECT_FALSE(relays_all(config_of()));
}

TEST(RelayTarget, HostsThatNoRedirectMayReachAreRelayedTo) {
  EXPECT_EQ(targets(kMap), "fit fit fit(relay) loop");
  EXPECT_EQ(targets(with(kMap, &RawRequest::https, "on")), "fit(relay) fit fit(relay) fit(relay)");
  EXPECT_EQ(targets(with(kMap, &RawRequest::https, "on"), "allow-downgrade = yes\n"), "fit fit fit(relay) fit(relay)");
}

TEST(RelayTarget, ThatIsLeftOutWhereNothingIsRelayed) {
  EXPECT_EQ(targets(with(kMap, &RawRequest::https, "on"), "", Relaying::absent),
            "downgrade fit inside-only inside-only");
  EXPECT_EQ(targets(with(kMap, &RawRequest::https, "on"), "mode = redirect\n"),
            "downgrade fit inside-only inside-only");
}

TEST(RelayTarget, EveryHostOfARelayedRequestIsFitButALoop) {
  EXPECT_EQ(targets(kCapabilities), "fit(relay) fit(relay) fit(relay) loop");
  EXPECT_EQ(targets(kCapabilities, "public-url = http://10.0.0.6\n"), "fit(relay) fit(relay) fit(relay) loop");
}

TEST(RelayDecision, ToAnInsideOnlyHostIsARelay) {
  const Config config = config_of("", "host = inner inside-only=http://10.0.0.5\n");
  const Request request = request_of(kMap, config);
  const Decision decision = decide_by_weight(request, config, plan_for(request, config, Relaying::built_in), Draw{1});
  EXPECT_TRUE(is_relay(decision));
  EXPECT_EQ(decision.host, 0U);
  const Decision absent = decide_by_weight(request, config, plan_for(request, config, Relaying::absent), Draw{1});
  EXPECT_FALSE(is_relay(absent));
  EXPECT_EQ(absent.reply.status, 503);
}

TEST(RelayDecision, OfAnHttpsClientAndHttpHostsIsARelay) {
  const Config config = config_of();
  const Request request = request_of(with(kMap, &RawRequest::https, "on"), config);
  const Decision decision = decide_by_weight(request, config, plan_for(request, config, Relaying::built_in), Draw{1});
  EXPECT_TRUE(is_relay(decision));
  EXPECT_TRUE(decision.reply.headers.empty());
}

TEST(RelayDecision, WithNobodyThereIsA503) {
  const Config config = config_of();
  const Request request = request_of(kCapabilities, config);
  const Decision decision = decide(request, config, plan_for(request, config, Relaying::built_in), Snapshot{}, Draw{1});
  EXPECT_FALSE(is_relay(decision));
  EXPECT_EQ(decision.reply.status, 503);
}

TEST(RelayDecision, AnArtifactIsLookedForOnManyHosts) {
  std::string hosts;
  for (int i = 0; i < 20; ++i)
    hosts += "host = h" + std::to_string(i) + " http://h" + std::to_string(i) + ".example.org\n";
  const Config config = config_of("artifact-prefixes = /tmp\n", hosts);
  RawRequest raw = get("");
  raw.request_uri = raw.script_name = "/tmp/ms_1.png";
  raw.remote_addr = "192.0.2.7";
  const Request request = request_of(raw, config);
  Snapshot snapshot;
  for (std::size_t i = 0; i < 20; ++i) {
    Candidate candidate;
    candidate.host = i;
    snapshot.candidates.push_back(candidate);
  }
  snapshot.preferred = preferred_host(request, [](std::uint64_t) { return std::optional<std::size_t>(7); });
  const Decision decision = decide(request, config, plan_for(request, config, Relaying::built_in), snapshot, Draw{1});
  EXPECT_EQ(decision.choice.hosts.size(), kLookedAt);
  EXPECT_EQ(decision.choice.hosts.front(), 7U);
}

TEST(BindsClient, APageAndNothingElse) {
  const auto binds = [](const RawRequest& raw, std::string_view type) { return binds_client(request_of(raw), type); };
  EXPECT_TRUE(binds(get("mode=browse"), "text/html"));
  EXPECT_TRUE(binds(get("mode=nquery&qlayer=a"), "Text/HTML; charset=utf-8"));
  EXPECT_TRUE(binds(post(), "text/html"));
  EXPECT_TRUE(binds(with(get("mode=browse"), &RawRequest::authorization, "Basic x"), "text/html"));
  EXPECT_FALSE(binds(get("mode=browse"), "image/png"));
  EXPECT_FALSE(binds(get("mode=map"), "text/html"));
  EXPECT_FALSE(binds(kCapabilities, "text/html"));
}

}  // namespace
}  // namespace balance
