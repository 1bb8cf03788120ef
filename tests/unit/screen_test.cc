// SPDX-License-Identifier: MIT
#include "balance/front/screen.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace balance {
namespace {

using std::string;

string byte(std::size_t value) { return string(1, static_cast<char>(value)); }

string record(unsigned type, const string& content, unsigned id = 1, std::size_t padding = 0) {
  return byte(1) + byte(type) + byte(id >> 8) + byte(id & 0xff) + byte(content.size() >> 8) +
         byte(content.size() & 0xff) + byte(padding) + byte(0) + content + string(padding, '\0');
}

string four(std::size_t length) {
  return byte(0x80 | (length >> 24)) + byte(length >> 16 & 0xff) + byte(length >> 8 & 0xff) + byte(length & 0xff);
}

string begin(unsigned role = 1) { return record(1, byte(0) + byte(role) + string(6, '\0')); }
string params(const string& content) { return record(4, content) + record(4, ""); }
const string kPair = byte(4) + byte(3) + "NAMEabc";
const string kGet = begin() + params(kPair) + record(5, "");

TEST(Screen, LetsAWholeRequestPass) { EXPECT_EQ(screen(kGet), Screened::without_body); }

TEST(Screen, TellsARequestWithABody) {
  EXPECT_EQ(screen(begin() + params(kPair) + record(5, "body")), Screened::with_body);
}

TEST(Screen, AnyBeginningOfARequestIsIncomplete) {
  for (std::size_t bytes = 0; bytes < kGet.size(); ++bytes) {
    EXPECT_EQ(screen(kGet.substr(0, bytes)), Screened::incomplete) << bytes;
  }
}

TEST(Screen, TakesRecordsSplitAnywhere) {
  for (std::size_t at = 1; at < kPair.size(); ++at) {
    const string split = record(4, kPair.substr(0, at)) + record(4, kPair.substr(at)) + record(4, "");
    EXPECT_EQ(screen(begin() + split + record(5, "")), Screened::without_body) << at;
  }
}

TEST(Screen, TakesPaddingAndLongLengths) {
  const string pair = four(4) + four(200) + "NAME" + string(200, 'x');
  EXPECT_EQ(screen(begin() + record(4, pair, 1, 7) + record(4, "", 1, 3) + record(5, "")), Screened::without_body);
}

TEST(HeadExtent, GrowsByRecordsUpToTheHeaderOfTheBody) {
  HeadExtent extent;
  std::vector<std::size_t> steps;
  const string head = begin() + record(4, kPair, 1, 4) + record(4, "");
  const string request = head + record(5, "body");
  for (std::size_t known = 0; known <= request.size(); ++known) {
    const std::size_t least = extent.at_least(request.substr(0, known));
    if (steps.empty() || steps.back() != least) steps.push_back(least);
  }
  EXPECT_EQ(steps, (std::vector<std::size_t>{8, 16, 24, 37, 45, 53}));
  EXPECT_EQ(head.size() + 8, 53U);
}

TEST(HeadExtent, EndsBehindTheHeaderOfWhatDoesNotBelongThere) {
  EXPECT_EQ(HeadExtent().at_least(begin() + record(9, "FCGI_MAX_CONNS")), 24U);
}

TEST(Screen, TakesARequestWithoutVariables) {
  EXPECT_EQ(screen(begin() + record(4, "") + record(5, "")), Screened::without_body);
}

TEST(Screen, RefusesLengthsThatAreNotThere) {
  for (const std::size_t length : {std::size_t{0x7fffffff}, std::size_t{0x7ffffffe}, std::size_t{0x3fffffff},
                                   std::size_t{0x00ffffff}, std::size_t{5}}) {
    EXPECT_EQ(screen(begin() + params(four(length) + four(length) + "NAME") + record(5, "")), Screened::refused)
        << length;
    EXPECT_EQ(screen(begin() + params(byte(4) + four(length) + "NAME") + record(5, "")), Screened::refused) << length;
  }
}

TEST(Screen, RefusesParametersThatEndWithinALength) {
  for (const string& rest : {byte(4), byte(0x80), four(4), four(4) + byte(0x80), four(4).substr(0, 3)}) {
    EXPECT_EQ(screen(begin() + params(kPair + rest) + record(5, "")), Screened::refused);
  }
}

TEST(Screen, RefusesManagementRecords) {
  const string asked = byte(14) + byte(0) + "FCGI_MAX_CONNS";
  EXPECT_EQ(screen(record(9, asked, 0)), Screened::refused);
  EXPECT_EQ(screen(begin() + record(9, asked, 0)), Screened::refused);
  EXPECT_EQ(screen(begin() + params(kPair) + record(9, asked, 0)), Screened::refused);
}

TEST(Screen, RefusesRecordsOutOfOrder) {
  EXPECT_EQ(screen(record(4, kPair)), Screened::refused);
  EXPECT_EQ(screen(begin() + record(5, "")), Screened::refused);
  EXPECT_EQ(screen(begin() + begin()), Screened::refused);
  EXPECT_EQ(screen(begin() + record(2, "")), Screened::refused);
  EXPECT_EQ(screen(begin() + params(kPair) + record(4, kPair)), Screened::refused);
}

TEST(Screen, RefusesOtherRequestsOnTheConnection) {
  EXPECT_EQ(screen(begin() + record(4, kPair, 2)), Screened::refused);
  EXPECT_EQ(screen(begin() + params(kPair) + record(5, "", 2)), Screened::refused);
}

TEST(Screen, RefusesRolesThatWeDoNotHave) {
  for (const unsigned role : {0U, 2U, 3U, 77U}) EXPECT_EQ(screen(begin(role)), Screened::refused) << role;
}

TEST(Screen, RefusesWhatIsNoFastCgi) {
  EXPECT_EQ(screen("GET / HTTP/1.0\r\n\r\n"), Screened::refused);
  EXPECT_EQ(screen(string(64, '\0')), Screened::refused);
  EXPECT_EQ(screen(string(64, '\xff')), Screened::refused);
  EXPECT_EQ(screen(record(1, "short")), Screened::refused);
}

}  // namespace
}  // namespace balance
