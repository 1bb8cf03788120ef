// SPDX-License-Identifier: MIT
#include "balance/ground/relay_response.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "loadprobe/base/text.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

// The error of the first line that is refused, or "".
std::string fault_of(const std::vector<std::string>& lines, HeadReader& reader) {
  for (const std::string& line : lines) {
    if (const base::Status taken = reader.add(line); !taken) return taken.error().what;
  }
  return "";
}
std::string fault_of(const std::vector<std::string>& lines) {
  HeadReader reader;
  return fault_of(lines, reader);
}

HostHead head_of(std::vector<std::string> headers, const std::string& status = "HTTP/1.1 200 OK") {
  headers.insert(headers.begin(), status);
  headers.emplace_back();
  HeadReader reader;
  EXPECT_EQ(fault_of(headers, reader), "");
  EXPECT_TRUE(reader.is_whole());
  return reader.head();
}

std::string relayed(std::vector<std::string> headers,
                    const std::string& config = "host-header = no\ncors-origin = none\n",
                    const std::string& status = "HTTP/1.1 200 OK") {
  const Config parsed = config_of(config);
  return to_cgi(relay_reply(head_of(std::move(headers), status), parsed.hosts.front(), parsed), Method::get);
}

TEST(HeadReader, ReadsAHead) {
  const HostHead head = head_of({"Content-Type: image/png; mode=8bit\r\n", "X-A:1", "Content-Length: 17 \r\n"});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.reason, "OK");
  EXPECT_EQ(head.find("content-TYPE"), "image/png; mode=8bit");
  EXPECT_EQ(head.find("X-A"), "1");
  EXPECT_EQ(head.find("X-B"), "");
  EXPECT_EQ(head.content_length, 17U);
}

TEST(HeadReader, TakesTheStatusLinesOfAllVersions) {
  EXPECT_EQ(head_of({}, "HTTP/1.0 404 Not Found").status, 404);
  EXPECT_EQ(head_of({}, "HTTP/2 503 ").status, 503);
  EXPECT_EQ(head_of({}, "HTTP/1.1 302").reason, "");
}

TEST(HeadReader, AnInterimHeadIsFollowedByAnother) {
  HeadReader reader;
  ASSERT_EQ(fault_of({"HTTP/1.1 100 Continue", ""}, reader), "");
  EXPECT_TRUE(reader.is_interim());
  ASSERT_EQ(fault_of({"HTTP/1.1 200 OK", "A: 1", ""}, reader), "");
  EXPECT_FALSE(reader.is_interim());
  EXPECT_EQ(reader.head().headers.size(), 1U);
}

TEST(HeadReader, RefusesStatusLinesThatAreNone) {
  for (const char* line : {"", "200 OK", "HTTP/1.1", "HTTP/1.1 2x0 OK", "HTTP/1.1 20", "HTTP/1.1 2000",
                           "HTTP/1.1 099 x", "HTTP/1.1 600 x", "HTTP/1.1 200 O\x01K", "<html>", "HTTP/1.1  200 OK"}) {
    EXPECT_NE(fault_of({line}), "") << line;
  }
}

TEST(HeadReader, SaysWhatItFoundAndWanted) {
  EXPECT_EQ(fault_of({"HTTP/1.1 200 OK", "A : 1"}),
            "the answer's head has 'A : 1'; wanted 'NAME: VALUE', with nothing between name and colon");
  EXPECT_EQ(fault_of({"HTTP/1.1 200 OK", "A: 1\rB: 2"}),
            "the answer's head has 'A: 1\\x0DB: 2'; wanted a value without control characters");
}

TEST(HeadReader, RefusesWhatTwoProgramsReadInTwoWays) {
  const std::string nul("A: 1\0B", 6);
  for (const std::string& line :
       {std::string(" folded"), std::string("\tfolded"), std::string("no colon"), std::string(": no name"),
        std::string("na me: x"), std::string("A\t: x"), nul, std::string("A: 1\nB: 2"), std::string("A: \x7F")}) {
    EXPECT_NE(fault_of({"HTTP/1.1 200 OK", line}), "") << line;
  }
}

TEST(HeadReader, RefusesLengthsThatDiffer) {
  EXPECT_NE(fault_of({"HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2", ""}), "");
  EXPECT_NE(fault_of({"HTTP/1.1 200 OK", "Content-Length: 1, 2", ""}), "");
  EXPECT_NE(fault_of({"HTTP/1.1 200 OK", "Content-Length: -1", ""}), "");
  EXPECT_NE(fault_of({"HTTP/1.1 200 OK", "Content-Length: 0x10", ""}), "");
  EXPECT_NE(fault_of({"HTTP/1.1 200 OK", "Content-Length: 99999999999999999999999", ""}), "");
  EXPECT_EQ(head_of({"Content-Length: 5", "content-length: 5, 5"}).content_length, 5U);
}

TEST(HeadReader, ALengthBesideChunksIsNotTrusted) {
  EXPECT_FALSE(head_of({"Content-Length: 5", "Transfer-Encoding: chunked"}).content_length);
}

TEST(HeadReader, RefusesTooManyAndTooLarge) {
  std::vector<std::string> many{"HTTP/1.1 200 OK"};
  for (std::size_t i = 0; i < HeadReader::kMostHeaders; ++i) many.emplace_back("A: 1");
  EXPECT_EQ(fault_of(many), "");
  many.emplace_back("A: 1");
  EXPECT_NE(fault_of(many), "");
  EXPECT_NE(fault_of({"HTTP/1.1 200 OK", "A: " + std::string(HeadReader::kMostBytes, 'x')}), "");
}

TEST(HeadReader, TakesNothingAfterAFault) {
  HeadReader reader;
  EXPECT_NE(fault_of({"HTTP/1.1 200 OK", "bad"}, reader), "");
  EXPECT_FALSE(reader.add("Good: 1"));
  EXPECT_FALSE(reader.add(""));
  EXPECT_FALSE(reader.is_whole());
}

TEST(HeadReader, OfEveryTruncationIsNotWhole) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 3\r\n\r\n";
  for (std::size_t bytes = 0; bytes < head.size(); ++bytes) {
    HeadReader reader;
    std::string_view rest = std::string_view(head).substr(0, bytes);
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      EXPECT_TRUE(reader.add(rest.substr(0, end + 1))) << bytes;
      rest.remove_prefix(end + 1);
    }
    EXPECT_FALSE(reader.is_whole()) << bytes;
  }
}

TEST(RelayReply, PassesStatusTypeAndTheRestAsTheyCame) {
  EXPECT_EQ(relayed({"Content-Type: application/vnd.ogc.se_xml; charset=UTF-8", "Set-Cookie: a=1", "Set-Cookie: b=2",
                     "Cache-Control: max-age=60", "Content-Length: 5"},
                    "host-header = no\ncors-origin = none\n", "HTTP/1.1 400 Bad request"),
            "Status: 400 Bad request\r\nContent-Type: application/vnd.ogc.se_xml; charset=UTF-8\r\nSet-Cookie: a=1\r\n"
            "Set-Cookie: b=2\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\n");
}

TEST(RelayReply, A3xxPassesWithItsLocationUntouched) {
  EXPECT_EQ(
      relayed({"Location: /tmp/empty.html?a=b%20c"}, "host-header = no\ncors-origin = none\n", "HTTP/1.1 302 Found"),
      "Status: 302 Found\r\nLocation: /tmp/empty.html?a=b%20c\r\n\r\n");
}

TEST(RelayReply, StripsWhatIsBetweenNeighbours) {
  EXPECT_EQ(
      relayed({"Connection: keep-alive, X-Secret", "X-Secret: 1", "Keep-Alive: timeout=5", "Transfer-Encoding: chunked",
               "Upgrade: h2c", "Trailer: x", "Proxy-Authenticate: x", "TE: x", "Alt-Svc: h3=\":443\"", "X-Kept: 1"}),
      "Status: 200 OK\r\nX-Kept: 1\r\n\r\n");
}

TEST(RelayReply, AHostCannotGiveTheWebServerOrders) {
  EXPECT_EQ(relayed({"Status: 500 x", "X-Accel-Redirect: /etc/passwd", "X-Sendfile: /etc/passwd", "X-Sendfile2: x",
                     "X-LIGHTTPD-send-file: /etc/passwd", "x-accel-buffering: no"}),
            "Status: 200 OK\r\n\r\n");
}

TEST(RelayReply, ALengthThatContradictsChunksIsLeftOut) {
  EXPECT_EQ(relayed({"Content-Length: 5", "Transfer-Encoding: chunked"}), "Status: 200 OK\r\n\r\n");
}

TEST(RelayReply, AnAnswerWithoutABodyHasNoLength) {
  EXPECT_EQ(relayed({"Content-Length: 5"}, "host-header = no\ncors-origin = none\n", "HTTP/1.1 304 Not Modified"),
            "Status: 304 Not Modified\r\n\r\n");
}

TEST(RelayReply, AddsTheOriginWhereItIsAbsent) {
  EXPECT_EQ(relayed({}, "host-header = no\n"), "Status: 200 OK\r\nAccess-Control-Allow-Origin: *\r\n\r\n");
  EXPECT_EQ(relayed({"access-control-allow-origin: https://a.example"}, "host-header = no\n"),
            "Status: 200 OK\r\naccess-control-allow-origin: https://a.example\r\n\r\n");
}

TEST(RelayReply, NamesTheHostAndNoOther) {
  EXPECT_EQ(relayed({"X-Balance-Host: other"}, "cors-origin = none\n"),
            "Status: 200 OK\r\nX-Balance-Host: pinchot\r\n\r\n");
}

TEST(RelayReply, AReasonOfStrangeBytesIsMadePrintable) {
  EXPECT_EQ(relayed({}, "host-header = no\ncors-origin = none\n", "HTTP/1.1 200 \xFF\xFE").find("\xFF"),
            std::string::npos);
}

}  // namespace
}  // namespace balance
