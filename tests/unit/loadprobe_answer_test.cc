// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "loadprobe/answer.h"

namespace loadprobe {
namespace {

using Parameter = std::optional<std::string_view>;

Ruling probe(Parameter balancer, Parameter dispatched) {
  return rule_on({"GET", "/metrics", balancer, dispatched, Admission::allowed});
}

TEST(Answer, AScrapeGetsTheMetricsAndTellsNothing) {
  const Ruling ruling = probe({}, {});
  EXPECT_TRUE(ruling.wants_metrics());
  EXPECT_FALSE(ruling.told);
}

TEST(Answer, AProbeTellsTheBalancersCount) {
  const Ruling ruling = probe("00000000000000ff", "42");
  EXPECT_TRUE(ruling.wants_metrics());
  EXPECT_EQ(ruling.told, (Told{255, 42}));
}

TEST(Answer, MapProcessesAreCountedForWhoeverAsksForThem) {
  const auto counts = [](Parameter map_processes, Admission admission = Admission::allowed) {
    return rule_on({"GET", "/metrics", "00000000000000ff", "42", admission, map_processes}).counts_map_processes;
  };
  EXPECT_TRUE(counts("1"));
  EXPECT_FALSE(counts({}));
  EXPECT_FALSE(counts("0"));
  EXPECT_FALSE(counts("1", Admission::refused));
}

TEST(Answer, AnUnreadableCountIsABadRequestAndTellsNothing) {
  for (const auto& [balancer, dispatched] :
       std::initializer_list<std::pair<Parameter, Parameter>>{{"00000000000000ff", {}},
                                                              {{}, "42"},
                                                              {"00000000000000ff", "-1"},
                                                              {"00000000000000ff", "1e3"},
                                                              {"00000000000000ff", "9223372036854775809"},
                                                              {"ff", "42"},
                                                              {"", ""}}) {
    const Ruling ruling = probe(balancer, dispatched);
    EXPECT_EQ(ruling.status, 400U);
    EXPECT_FALSE(ruling.told);
  }
}

TEST(Answer, AnAddressThatIsNotAllowedGets403AndTellsNothing) {
  const Ruling ruling = rule_on({"GET", "/metrics", "00000000000000ff", "42", Admission::refused});
  EXPECT_EQ(ruling.status, 403U);
  EXPECT_FALSE(ruling.told);
  EXPECT_FALSE(ruling.wants_metrics());
}

TEST(Answer, HeadIsServedAndOtherMethodsAreNot) {
  EXPECT_TRUE(rule_on({"HEAD", "/metrics", {}, {}, Admission::allowed}).wants_metrics());
  for (const char* method : {"POST", "PUT", "get", "OPTIONS", ""}) {
    EXPECT_EQ(rule_on({method, "/metrics", "00000000000000ff", "42", Admission::allowed}).status, 405U) << method;
  }
}

TEST(Answer, OtherPathsAreNotThereAndTheRootNamesTheMetrics) {
  EXPECT_EQ(rule_on({"GET", "/metrics/", {}, {}, Admission::allowed}).status, 404U);
  EXPECT_EQ(rule_on({"GET", "", {}, {}, Admission::allowed}).status, 404U);
  const Ruling root = rule_on({"GET", "/", {}, {}, Admission::allowed});
  EXPECT_EQ(root.status, 200U);
  EXPECT_NE(root.text.find("/metrics"), std::string::npos);
}

}  // namespace
}  // namespace loadprobe
