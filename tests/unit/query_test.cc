// SPDX-License-Identifier: MIT
#include "balance/ground/query.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

std::string value_of(std::string_view text, std::string_view key) {
  return std::string(Query(text).find(key).value_or("(none)"));
}

TEST(Query, KeysMatchWithoutCase) {
  EXPECT_EQ(value_of("REQUEST=GetMap", "request"), "GetMap");
  EXPECT_EQ(value_of("ReQuEsT=GetMap", "request"), "GetMap");
  EXPECT_EQ(value_of("requests=GetMap", "request"), "(none)");
}

TEST(Query, TheFirstOfSeveralCounts) {
  EXPECT_EQ(value_of("map=B&map=A", "map"), "B");
  EXPECT_EQ(value_of("MAP=&map=A", "map"), "");
}

TEST(Query, OnlyTheAmpersandSeparates) {
  EXPECT_EQ(value_of("map=A;service=WMS&q=a;b", "map"), "A;service=WMS");
  EXPECT_EQ(value_of("map=A;service=WMS&q=a;b", "service"), "(none)");
  EXPECT_EQ(value_of("map=A;service=WMS&q=a;b", "q"), "a;b");
  EXPECT_EQ(value_of("a=1%26mode=map", "mode"), "(none)");
  EXPECT_EQ(value_of("a=1&amp;mode=map", "mode"), "(none)");
}

TEST(Query, DecodesOnceAndPlusIsASpace) {
  EXPECT_EQ(value_of("x=a%2Bb+c%26d&y=%2520", "x"), "a+b c&d");
  EXPECT_EQ(value_of("x=a%2Bb+c%26d&y=%2520", "y"), "%20");
  EXPECT_EQ(value_of("x=100%", "x"), "100%");
  EXPECT_EQ(value_of("x=%4", "x"), "%4");
}

TEST(Query, KeysMayBeEncodedToo) {
  EXPECT_EQ(value_of("r%65quest=GetMap", "request"), "GetMap");
  EXPECT_EQ(value_of("request%3DGetCapabilities", "request"), "GetCapabilities");
}

TEST(Query, AnEncodedNulEndsAValueAsInC) {
  EXPECT_EQ(value_of("request=GetMap%00x", "request"), "GetMap");
  EXPECT_EQ(value_of("mo%00de=map&mode=tile", "mode"), "tile");
}

TEST(Query, AValueMayHoldEqualsSignsAndMayBeMissing) {
  EXPECT_EQ(value_of("filter=a=b=c", "filter"), "a=b=c");
  EXPECT_EQ(value_of("map&mode=map", "map"), "");
  EXPECT_EQ(value_of("=x&mode=map", "mode"), "map");
}

TEST(Query, EmptyPiecesMeanNothing) {
  EXPECT_EQ(value_of("&&mode=map&&", "mode"), "map");
  EXPECT_FALSE(Query("").has("mode"));
  EXPECT_FALSE(Query("&").has("mode"));
}

TEST(Query, EveryTruncationIsRead) {
  const std::string whole = "map=%2Fa&SERVICE=W%4dS&request=GetMap%";
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const Query query(std::string_view(whole).substr(0, length));
    EXPECT_EQ(query.has("map"), length >= 3) << length;
    EXPECT_EQ(query.find("service").value_or("") == "WMS", length >= 22) << length;
  }
}

TEST(Query, ReadsAThousandParametersAndAMegabyte) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "k" + std::to_string(i) + "=v&";
  EXPECT_EQ(value_of(many + "mode=map", "mode"), "map");
  EXPECT_EQ(value_of("x=" + std::string(1 << 20, '%') + "&mode=map", "mode"), "map");
}

}  // namespace
}  // namespace balance
