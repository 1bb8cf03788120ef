// SPDX-License-Identifier: MIT
// Answers that break off, stall or are none, and clients that leave.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>

#include "tests/unit/relay_hosts.h"

namespace balance::testing {
namespace {

TEST_F(Relay, AnAnswerThatStallsBreaksOff) {
  const Host stalls([](Connection& to) {
    to.send(picture().substr(0, picture().size() - 5));
    to.peer_leaves();
  });
  const Host good(picture());
  configure(stalls.line("a") + good.line("b"));
  ask(kGetMap);
  EXPECT_TRUE(exchange_->broken_off);
  EXPECT_EQ(good.requests(), 0);
}

TEST_F(Relay, HalfAnAnswerBreaksOffAndIsNotMended) {
  const std::string long_picture =
      answer_of("200 OK", std::string(kPng) + std::string(400'000, 'x'), "Content-Type: image/png\r\n");
  const Host half([&](Connection& to) { to.send(long_picture.substr(0, 200'000)); });
  const Host good(picture());
  configure(half.line("a") + good.line("b"));
  ask(kGetMap);
  EXPECT_TRUE(exchange_->broken_off);
  EXPECT_EQ(body_of(exchange_->answer), body_of(long_picture.substr(0, 200'000)));
  EXPECT_EQ(good.requests(), 0);
}

TEST_F(Relay, HalfAnAnswerOfWhichTheClientHasNothingYetIsMended) {
  const Host half([](Connection& to) { to.send(picture().substr(0, picture().size() - 5)); });
  const Host good(picture());
  configure(half.line("a") + good.line("b"));
  breaks_ = Exchange::Break::is_hidden;
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_FALSE(exchange_->broken_off);
}

TEST_F(Relay, WhereABreakWouldBeHiddenHalfAnAnswerAloneIs502) {
  const Host half([](Connection& to) { to.send(picture().substr(0, picture().size() - 5)); });
  configure(half.line("a"));
  breaks_ = Exchange::Break::is_hidden;
  EXPECT_TRUE(begins(ask(kGetMap), "Status: 502 "));
}

TEST_F(Relay, AHeadThatIsNoneGoesToTheNextHost) {
  for (const char* head : {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\nx", "\0\1\2\3\r\n\r\n"}) {
    const Host bad{std::string(head)};
    const Host good(picture());
    configure(bad.line("a") + good.line("b"));
    EXPECT_EQ(body_of(ask(kGetMap)), kPng) << head;
  }
}

TEST_F(Relay, AHeadWithoutEndIsCutOff) {
  const Host bad([](Connection& to) {
    to.send("HTTP/1.1 200 OK\r\n");
    while (to.send("X-Filler: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  const Host good(picture());
  configure(bad.line("a") + good.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
}

TEST_F(Relay, LengthsThatDifferAreNoAnswer) {
  const Host bad(answer_of("200 OK", kPng, "Content-Type: image/png\r\nContent-Length: 5\r\n"));
  const Host good(picture());
  configure(bad.line("a") + good.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(good.requests(), 1);
}

TEST_F(Relay, ChunksWithoutAnEndBreakOff) {
  const Host host("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<ok/>\r\n");
  configure(host.line("a"));
  breaks_ = Exchange::Break::shows;
  ask("map=WORLD&service=WFS&request=GetFeature");
  EXPECT_TRUE(exchange_->broken_off || begins(exchange_->answer, "Status: 502 ")) << exchange_->answer;
}

TEST_F(Relay, AClientThatHasGoneEndsTheTransferAndIsNoFailure) {
  const Host host([](Connection& to) {
    to.send("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + std::string(kPng));
    while (to.send(std::string(10000, 'x'))) {
    }
  });
  configure(host.line("a"));
  make_table();
  takes_ = 20000;
  ask(kGetMap);
  EXPECT_FALSE(exchange_->broken_off);
  EXPECT_EQ(table_->live(0, base::now()).outcomes.end, Relayed::fine);
  EXPECT_EQ(table_->in_flight(0), 0U);
}

TEST_F(Relay, AClientThatLeavesWhileTheHostWorksLetsTheHostGo) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const base::Fd client(ends[0]);
  base::Fd web_server(ends[1]);
  std::atomic<bool> was_left = false;
  const Host host([&](Connection& to) {
    web_server.close();
    was_left = to.peer_leaves();
  });
  configure(host.line("a"), "response-timeout = 100s\n");
  exchange_ = std::make_unique<MemoryExchange>(std::vector<std::string>{});
  exchange_->watched_fd = client.get();
  exchange_->abandoned = true;
  const RawRequest raw = get(kGetMap);
  Request request = request_of(raw, config_);
  RelayJob job{*exchange_, raw, request, config_, nullptr, Decision{}, Draw{1}};
  job.decision->plan.action = Action::relay;
  job.decision->choice.hosts = {0};
  job.decision->host = 0;
  relayer_->relay(std::move(job));
  EXPECT_EQ(exchange_->answer, "");
}

}  // namespace
}  // namespace balance::testing
