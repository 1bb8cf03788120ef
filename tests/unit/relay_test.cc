// SPDX-License-Identifier: MIT
// The relay against hosts on loopback: what arrives at the host, and what of its answer at the client.
#include "tests/unit/relay_hosts.h"

namespace balance::testing {
namespace {

TEST_F(Relay, StatusTypeAndBodyComeThroughAsTheyAre) {
  const Host host(picture("X-Other: yes\r\n"));
  configure(host.line("muir"));
  const std::string answer = ask(kGetMap);
  EXPECT_TRUE(begins(answer, "Status: 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Type: image/png\r\n"), std::string::npos);
  EXPECT_NE(answer.find("X-Other: yes\r\n"), std::string::npos);
  EXPECT_NE(answer.find("X-Balance-Host: muir\r\n"), std::string::npos);
  EXPECT_EQ(body_of(answer), kPng);
  EXPECT_FALSE(exchange_->broken_off);
}

TEST_F(Relay, AGetHasNoBodyAndNoHeaderOfLibcurl) {
  const Host host(picture());
  configure(host.line("muir"));
  ask(kGetMap);
  EXPECT_TRUE(
      begins(host.last(), "GET /cgi-bin/mapserv?map=WORLD&service=WMS&request=GetMap&format=image/png HTTP/1.1\r\n"));
  for (const char* name : {"Accept", "User-Agent", "Transfer-Encoding", "Content-Length", "Content-Type", "Expect"}) {
    EXPECT_EQ(host.last().find("\r\n" + std::string(name) + ":"), std::string::npos) << host.last();
  }
}

TEST_F(Relay, AFormArrivesWithItsBody) {
  const Host host(picture());
  configure(host.line("muir"));
  ask("", "POST", "map=WORLD&mode=map", "application/x-www-form-urlencoded");
  EXPECT_TRUE(begins(host.last(), "POST /cgi-bin/mapserv HTTP/1.1\r\n")) << host.last();
  EXPECT_EQ(host.last_body(), "map=WORLD&mode=map");
  EXPECT_NE(host.last().find("Content-Type: application/x-www-form-urlencoded\r\n"), std::string::npos);
}

TEST_F(Relay, ABodyOfMegabytesArrivesByWayOfTheDisk) {
  const Host host(document("<ok/>"));
  // Sanitizers and busy machines take their time with it.
  configure(host.line("muir"), "response-timeout = 30s\nstall-timeout = 30s\nspool-dir = " + folder_.path() + "\n");
  std::string body;
  while (body.size() < 3'000'000) body += std::to_string(body.size()) + ",";
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", body, "text/xml"), "Status: 200 OK"));
  EXPECT_TRUE(host.last_body() == body);
}

TEST_F(Relay, ABodyBeyondTheLimitIs413AndNoHostHearsOfIt) {
  const Host host(document("<ok/>"));
  configure(host.line("muir"), "max-body = 2kB\n");
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", std::string(2049, 'x'), "text/xml"), "Status: 413 "));
  EXPECT_EQ(host.requests(), 0);
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", std::string(2048, 'x'), "text/xml"), "Status: 200 "));
}

TEST_F(Relay, ABodyShorterThanItsLengthIsRefused) {
  const Host host(document("<ok/>"));
  configure(host.line("muir"));
  content_length_ = "100";
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", "short", "text/xml"), "Status: 400 "));
  EXPECT_EQ(host.requests(), 0);
}

TEST_F(Relay, ASpoolFolderThatIsNotThereIs503) {
  const Host host(document("<ok/>"));
  configure(host.line("muir"), "spool-dir = " + (folder_ / "nowhere") + "\n");
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", std::string(1'100'000, 'x'), "text/xml"), "Status: 503 "));
}

TEST_F(Relay, HeadAsksForAllAndPassesTheHeadOn) {
  const Host host(picture());
  configure(host.line("muir"));
  const std::string answer = ask(kGetMap, "HEAD");
  EXPECT_TRUE(begins(host.last(), "GET "));
  EXPECT_TRUE(begins(answer, "Status: 200 OK\r\n"));
  EXPECT_EQ(body_of(answer), "");
}

TEST_F(Relay, InterimHeadsAreNoAnswer) {
  const Host host("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + picture());
  configure(host.line("a"));
  const std::string answer = ask(kGetMap);
  EXPECT_TRUE(begins(answer, "Status: 200 OK\r\n"));
  EXPECT_EQ(answer.find("Link"), std::string::npos);
  EXPECT_EQ(body_of(answer), kPng);
}

TEST_F(Relay, ChunksArriveWithoutTheirFramesAndTrailers) {
  const Host host(
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\n<ok/>\r\n3;x=y\r\nabc\r\n0\r\nX-Trailer: late\r\n\r\n");
  configure(host.line("a"));
  const std::string answer = ask(kCapabilities);
  EXPECT_EQ(body_of(answer), "<ok/>abc");
  EXPECT_EQ(answer.find("Transfer-Encoding"), std::string::npos);
  EXPECT_EQ(answer.find("X-Trailer"), std::string::npos);
}

TEST_F(Relay, ABodyThatEndsWithTheConnectionIsWhole) {
  const Host host("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + std::string(kPng));
  configure(host.line("a"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_FALSE(exchange_->broken_off);
}

TEST_F(Relay, AnswersWithoutABodyHaveNone) {
  for (const std::string status : {"204 No Content", "304 Not Modified"}) {
    const Host host("HTTP/1.1 " + status + "\r\nConnection: close\r\n\r\n");
    configure(host.line("a"));
    const std::string answer = ask(kCapabilities);
    EXPECT_TRUE(begins(answer, "Status: " + status + "\r\n")) << answer;
    EXPECT_EQ(body_of(answer), "");
  }
}

TEST_F(Relay, GarbageBehindAnAnswerIsNotPassedOn) {
  const Host host(picture() + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  configure(host.line("a"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
}

TEST_F(Relay, ARedirectOfTheHostIsPassedOnUnfollowed) {
  const Host host(answer_of("302 Found", "", "Connection: close\r\nLocation: http://elsewhere.example.org/x\r\n"));
  configure(host.line("a"));
  const std::string answer = ask("map=WORLD&mode=browse");
  EXPECT_TRUE(begins(answer, "Status: 302 Found\r\n"));
  EXPECT_NE(answer.find("Location: http://elsewhere.example.org/x\r\n"), std::string::npos);
}

TEST_F(Relay, ACompressedAnswerStaysAsItIs) {
  const Host host(answer_of("200 OK", "\x1f\x8bnot really",
                            "Connection: close\r\nContent-Type: text/xml\r\n"
                            "Content-Encoding: gzip\r\n"));
  configure(host.line("a"));
  EXPECT_EQ(body_of(ask(kCapabilities)), "\x1f\x8bnot really");
}

TEST_F(Relay, AnAnswerOfMegabytesArrivesWhole) {
  const std::string big(3'000'000, 'x');
  const Host host(answer_of("200 OK", big, "Connection: close\r\nContent-Type: text/xml\r\n"));
  configure(host.line("a"));
  EXPECT_TRUE(body_of(ask("map=WORLD&service=WFS&request=GetFeature")) == big);
}

}  // namespace
}  // namespace balance::testing
