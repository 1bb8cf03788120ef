// SPDX-License-Identifier: MIT
#include "balance/ground/retry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/requests.h"

namespace balance {
namespace {

constexpr std::string_view kForm = "application/x-www-form-urlencoded";

Request post(std::string_view query = "map=WORLD") {
  RawRequest raw = get(query);
  raw.method = "POST";
  return request_of(raw);
}
Effect effect(std::string_view type, std::string_view body, std::string_view query = "map=WORLD") {
  return effect_of(post(query), type, body, true);
}

TEST(Effect, OfGetAndHeadIsNone) {
  for (const char* method : {"GET", "HEAD"}) {
    RawRequest raw = get("service=WFS&request=GetFeature");
    raw.method = method;
    EXPECT_EQ(effect_of(request_of(raw), "", "", true), Effect::none) << method;
  }
}

TEST(Effect, OfOtherMethodsIsPossible) {
  for (const char* method : {"PUT", "DELETE", "PATCH"}) {
    RawRequest raw = get("");
    raw.method = method;
    EXPECT_EQ(effect_of(request_of(raw), "text/xml", "<GetFeature/>", true), Effect::possible) << method;
  }
}

TEST(Effect, OfXmlThatReadsIsNone) {
  for (const char* name : {"GetFeature", "GetMap", "GetCapabilities", "DescribeFeatureType", "GetFeatureInfo",
                           "GetCoverage", "GetPropertyValue", "GetObservation", "DescribeSensor", "DescribeCoverage"}) {
    const std::string body = "<?xml version=\"1.0\"?><x:" + std::string(name) + " service=\"X\"/>";
    for (const char* type :
         {"text/xml", "application/xml; charset=utf-8", "TEXT/XML", "application/gml+xml", "text/plain", ""})
      EXPECT_EQ(effect(type, body), Effect::none) << name << " as " << type;
  }
}

TEST(Effect, OfTransactionsAndUnknownXmlIsPossible) {
  for (const char* body :
       {"<Transaction/>", "<wfs:Transaction>", "<LockFeature/>", "<GetFeatureWithLock/>", "<InsertSensor/>", "<Foo/>",
        "<soap:Envelope><soap:Body><GetFeature/>", "<InsertObservation/>", "<!DOCTYPE a><GetFeature/>", "<GetFeature",
        "GetFeature", "", "<CreateStoredQuery/>", "\xFF\xFE<\0G\0"}) {
    EXPECT_EQ(effect("text/xml", body), Effect::possible) << body;
  }
}

TEST(Effect, OfAFormThatReadsIsNone) {
  for (const char* body : {"service=WMS&request=GetMap&layers=a", "REQUEST=getfeature", "mode=browse&layer=a",
                           "map=WORLD", "request=Get%4Dap", ""}) {
    EXPECT_EQ(effect(kForm, body), Effect::none) << body;
  }
}

TEST(Effect, OfAFormThatDoesNotIsPossible) {
  for (const char* body : {"request=Transaction", "service=WFS", "request=GetMap&request=Transaction",
                           "request=LockFeature", "request=", "mode=query&savequery=", "savemap=true"}) {
    EXPECT_EQ(effect(kForm, body), Effect::possible) << body;
  }
  EXPECT_EQ(effect(kForm, "request=GetMap", "request=Transaction"), Effect::possible);
  EXPECT_EQ(effect("text/xml", "<GetMap/>", "request=Transaction"), Effect::possible);
}

TEST(Effect, OfAFormThatIsNotKnownToItsEndIsPossible) {
  EXPECT_EQ(effect_of(post(), kForm, "request=GetMap&x=", false), Effect::possible);
  EXPECT_EQ(effect_of(post(), "text/xml", "<GetMap><Layer", false), Effect::none);
}

TEST(Effect, OfOtherBodiesIsPossible) {
  EXPECT_EQ(effect("application/json", "{\"request\":\"GetMap\"}"), Effect::possible);
  EXPECT_EQ(effect("multipart/form-data; boundary=x", "<GetMap/>"), Effect::possible);
}

TEST(Effect, OfEveryTruncationOfATransactionIsPossible) {
  const std::string whole = "<?xml version=\"1.0\"?>\n<wfs:Transaction service=\"WFS\"><wfs:Insert/></wfs:Transaction>";
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    EXPECT_EQ(effect("text/xml", whole.substr(0, bytes)), Effect::possible) << bytes;
  }
}

TEST(NoteForm, AFormThatNamesAPagesFilesFollowsUp) {
  Request request = post();
  note_form(request, kForm, "mode=nquery&id=17");
  EXPECT_TRUE(request.is_page_follow_up);
}

TEST(NoteForm, OtherBodiesDoNot) {
  Request request = post();
  note_form(request, kForm, "mode=nquery&id=");
  note_form(request, "text/xml", "id=17");
  EXPECT_FALSE(request.is_page_follow_up);
}

TEST(Retry, AfterFailedConnectionsTwoFurtherHostsAreTried) {
  for (const Effect effect : {Effect::none, Effect::possible}) {
    EXPECT_TRUE(may_try_again({.unconnected = 1}, effect, Begun::no, false));
    EXPECT_TRUE(may_try_again({.unconnected = 2}, effect, Begun::no, false));
    EXPECT_FALSE(may_try_again({.unconnected = 3}, effect, Begun::no, false));
  }
}

TEST(Retry, AfterItWasSentOneOtherHostIsTriedAndOnlyWithoutEffect) {
  EXPECT_TRUE(may_try_again({.sent = 1}, Effect::none, Begun::no, false));
  EXPECT_FALSE(may_try_again({.sent = 1}, Effect::possible, Begun::no, false));
  EXPECT_FALSE(may_try_again({.sent = 2}, Effect::none, Begun::no, false));
  EXPECT_TRUE(may_try_again({.unconnected = 1, .sent = 1}, Effect::none, Begun::no, false));
  EXPECT_FALSE(may_try_again({.unconnected = 2, .sent = 1}, Effect::none, Begun::no, false));
  EXPECT_FALSE(may_try_again({.unconnected = 1, .sent = 1}, Effect::possible, Begun::no, false));
}

TEST(Retry, NeverAfterTheClientHasAByteOfAnAnswer) {
  EXPECT_FALSE(may_try_again({.sent = 1}, Effect::none, Begun::yes, false));
  EXPECT_FALSE(may_try_again({.unconnected = 1}, Effect::none, Begun::yes, false));
}

TEST(Retry, AKillerIsNotSentToAnotherHost) {
  EXPECT_FALSE(may_try_again({.sent = 1}, Effect::none, Begun::no, true));
  EXPECT_TRUE(may_try_again({.unconnected = 1}, Effect::none, Begun::no, true));
}

TEST(Retry, AnArtifactThatIsNotThereMayBeElsewhere) {
  const Config config = config_of("artifact-prefixes = /tmp\n");
  RawRequest raw = get("");
  raw.request_uri = "/tmp/a.png";
  raw.script_name = "/tmp/a.png";
  const Request artifact = request_of(raw, config);
  ASSERT_EQ(artifact.class_, Class::artifact);
  EXPECT_TRUE(may_look_elsewhere(artifact, 404));
  EXPECT_TRUE(may_look_elsewhere(artifact, 410));
  EXPECT_FALSE(may_look_elsewhere(artifact, 200));
  EXPECT_FALSE(may_look_elsewhere(artifact, 403));
  EXPECT_FALSE(may_look_elsewhere(request_of(get("mode=map")), 404));
}

bool counts(const std::vector<Relayed>& tries, std::size_t at, bool is_killer = false) {
  return counts_against_host(tries, at, is_killer);
}

TEST(CountsAgainstHost, EveryFailureButWhatTwoHostsAgreeOn) {
  EXPECT_TRUE(counts({Relayed::timed_out, Relayed::timed_out}, 1));
  EXPECT_TRUE(counts({Relayed::host_fault, Relayed::fine}, 0));
  EXPECT_FALSE(counts({Relayed::host_fault, Relayed::fine}, 1));
  EXPECT_FALSE(counts({Relayed::host_fault, Relayed::host_fault}, 0));
  EXPECT_FALSE(counts({Relayed::host_fault, Relayed::host_fault}, 1));
  EXPECT_TRUE(counts({Relayed::no_connection, Relayed::host_fault, Relayed::host_fault}, 0));
  EXPECT_FALSE(counts({Relayed::fine}, 5));
}

TEST(CountsAgainstHost, OfAKillerOnlyFailedConnections) {
  EXPECT_FALSE(counts({Relayed::timed_out}, 0, true));
  EXPECT_TRUE(counts({Relayed::no_connection}, 0, true));
}

TEST(Killer, IsWhatWasSentToTwoHostsAndFailedOnBoth) {
  const std::vector<Relayed> both{Relayed::timed_out, Relayed::broke_off},
      one{Relayed::no_connection, Relayed::timed_out}, well{Relayed::host_fault, Relayed::fine};
  EXPECT_TRUE(is_now_killer(both));
  EXPECT_FALSE(is_now_killer(one));
  EXPECT_FALSE(is_now_killer(well));
  EXPECT_FALSE(is_now_killer({}));
}

TEST(RequestFingerprint, TellsRequestsApartAndNotClients) {
  RawRequest raw = get("a=1");
  const std::uint64_t base = request_fingerprint(request_of(raw), 0);
  raw.remote_addr = "192.0.2.9";
  raw.cookie = "x=1";
  EXPECT_EQ(request_fingerprint(request_of(raw), 0), base);
  EXPECT_NE(request_fingerprint(request_of(raw), 1), base);
  EXPECT_NE(request_fingerprint(request_of(get("a=2")), 0), base);
  EXPECT_NE(request_fingerprint(post("a=1"), 0), base);
  raw.method = "HEAD";  // sent as GET
  EXPECT_EQ(request_fingerprint(request_of(raw), 0), base);
}

TEST(Relayed, EachEndHasItsPhrase) {
  std::vector<std::string_view> phrases;
  for (std::size_t i = 0; i < kRelayedEnds; ++i) phrases.push_back(phrase_of(static_cast<Relayed>(i)));
  EXPECT_EQ(phrases,
            (std::vector<std::string_view>{"fine", "no connection", "no answer in time", "answered 502", "answered 503",
                                           "answered 504", "mapserver failed", "the answer broke off"}));
}

}  // namespace
}  // namespace balance
