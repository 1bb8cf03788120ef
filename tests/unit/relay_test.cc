// SPDX-License-Identifier: MIT
// The relay against hosts on loopback that behave as badly as can be.
#include "balance/relay/relay.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "balance/table/table.h"
#include "loadprobe/base/clock.h"
#include "tests/unit/exchanges.h"
#include "tests/unit/requests.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/watch_server.h"

namespace balance {
namespace {

using testing::answer_of;
using testing::Connection;
using testing::DeadPort;
using testing::Server;

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n and the rest of a picture";
constexpr std::string_view kGetMap = "map=WORLD&service=WMS&request=GetMap&format=image/png";
constexpr std::string_view kCapabilities = "map=WORLD&service=WMS&request=GetCapabilities";
constexpr std::string_view kMessage =
    "<HTML>\n<HEAD><TITLE>MapServer Message</TITLE></HEAD>\n<BODY>loadMap(): Unable to access file</BODY></HTML>";

std::size_t length_in(const std::string& head) {
  const std::size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
}

// A host that treats each connection alike and remembers what it was asked.
class Host {
 public:
  using Then = std::function<void(Connection&)>;
  explicit Host(Then then)
      : server_([this, then = std::move(then)](Connection& connection) {
          std::string head = connection.read_request();
          if (head.empty()) return;
          std::string body = connection.read_bytes(length_in(head));
          ++requests_;
          last_ = std::move(head);
          last_body_ = std::move(body);
          then(connection);
        }) {}
  explicit Host(std::string answer) : Host([answer = std::move(answer)](Connection& to) { to.send(answer); }) {}

  std::string line(const std::string& name) const {
    return "host = " + name + " http://127.0.0.1:" + std::to_string(server_.port()) + " probe=none\n";
  }
  int requests() const { return requests_; }
  // After the relay has answered.
  const std::string& last() const { return last_; }
  const std::string& last_body() const { return last_body_; }

 private:
  std::atomic<int> requests_{0};
  std::string last_, last_body_;
  Server server_;  // its thread uses the others
};

std::string picture(std::string_view more = "") {
  return answer_of("200 OK", kPng, "Connection: close\r\nContent-Type: image/png\r\n" + std::string(more));
}
std::string document(std::string_view body) {
  return answer_of("200 OK", body, "Connection: close\r\nContent-Type: text/xml\r\n");
}
std::string page(std::string_view body) {
  return answer_of("200 OK", body, "Connection: close\r\nContent-Type: text/html\r\n");
}

class Relay : public ::testing::Test {
 protected:
  Relay() {
    base::Result<std::unique_ptr<Relayer>> made = make_relay();
    EXPECT_TRUE(made);
    relayer_ = *std::move(made);
  }

  void configure(const std::string& hosts, const std::string& relay = "") {
    const auto unless_set = [&relay](const std::string& name) {
      return relay.find(name) == std::string::npos ? name + " = 200ms\n" : "";
    };
    config_ = config_of(
        "[relay]\nconnect-timeout = 1s\n" + relay + unless_set("stall-timeout") + unless_set("response-timeout"),
        "public-url = http://maps.example.org/cgi-bin/mapserv\nmode = relay\n" + hosts);
  }

  // Asks the hosts in the order of the configuration.
  std::string ask(std::string_view query, std::string_view method = "GET", std::string body = "",
                  std::string_view type = "") {
    exchange_ = std::make_unique<MemoryExchange>(std::vector<std::string>{}, std::move(body));
    exchange_->breaks = breaks_;
    exchange_->takes = takes_;
    RawRequest raw = get(query);
    raw.method = method;
    raw.content_type = type;
    raw.content_length = content_length_;
    relay(raw, *exchange_);
    return exchange_->answer;
  }

  // Any thread may call it.
  void relay(RawRequest& raw, Exchange& exchange) {
    raw.remote_addr = "192.0.2.7";
    Request request = request_of(raw, config_);
    RelayJob job{exchange, raw, request, config_, table_ ? &*table_ : nullptr, Decision{}, Draw{1}};
    job.decision->plan.action = Action::relay;
    for (std::size_t i = 0; i < config_.hosts.size(); ++i) job.decision->choice.hosts.push_back(i);
    job.decision->host = 0;
    relayer_->relay(std::move(job));
  }

  void make_table() {
    const TableShape shape{config_.fingerprint, config_.hosts.size(), base::boot_id()};
    base::Result<Table> made = Table::create(folder_ / "table", shape);
    ASSERT_TRUE(made);
    table_.emplace(*std::move(made));
    relayer_->use_table(folder_ / "table", shape);
  }

  ScratchDir folder_;
  Config config_;
  std::optional<Table> table_;
  std::unique_ptr<Relayer> relayer_;
  std::unique_ptr<MemoryExchange> exchange_;
  Exchange::Break breaks_ = Exchange::Break::shows;
  std::size_t takes_ = std::string::npos;
  std::string content_length_;
};

bool begins(const std::string& text, std::string_view with) { return text.starts_with(with); }
std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "(no end of the head)" : answer.substr(end + 4);
}

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

TEST_F(Relay, ARefusedConnectionGoesToTheNextHostAndThen) {
  const DeadPort dead, grave;
  const Host host(picture());
  const auto gone = [](const std::string& name, const DeadPort& port) {
    return "host = " + name + " http://127.0.0.1:" + std::to_string(port.port()) + " probe=none\n";
  };
  configure(gone("a", dead) + gone("b", grave) + host.line("muir"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(host.requests(), 1);
}

TEST_F(Relay, ARefusedConnectionIsTriedElsewhereEvenForATransaction) {
  const DeadPort dead;
  const Host host(document("<ok/>"));
  configure("host = a http://127.0.0.1:" + std::to_string(dead.port()) + " probe=none\n" + host.line("muir"));
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", "<wfs:Transaction/>", "text/xml"), "Status: 200 "));
  EXPECT_EQ(host.requests(), 1);
}

TEST_F(Relay, AConnectionResetIsTriedOnceMoreElsewhere) {
  const Host bad([](Connection& to) { to.reset(); });
  const Host good(picture());
  configure(bad.line("a") + good.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(bad.requests(), 1);
  EXPECT_EQ(good.requests(), 1);
}

TEST_F(Relay, ATransactionIsNeverSentTwice) {
  const Host bad([](Connection& to) { to.reset(); });
  const Host good(document("<ok/>"));
  configure(bad.line("a") + good.line("b"));
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", "<wfs:Transaction/>", "text/xml"), "Status: 502 "));
  EXPECT_EQ(bad.requests(), 1);
  EXPECT_EQ(good.requests(), 0);
}

TEST_F(Relay, OfThreeHostsThatResetTwoAreTried) {
  const Host a([](Connection&to) { to.reset(); }), b([](Connection&to) { to.reset(); });
  const Host c(picture());
  configure(a.line("a") + b.line("b") + c.line("c"));
  EXPECT_TRUE(begins(ask(kGetMap), "Status: 502 "));
  EXPECT_EQ(a.requests() + b.requests(), 2);
  EXPECT_EQ(c.requests(), 0);
}

TEST_F(Relay, ASilentHostIsLeftAfterTheResponseTimeout) {
  const Host silent([](Connection& to) { to.peer_leaves(); });
  const Host good(picture());
  configure(silent.line("a") + good.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(silent.requests(), 1);
}

TEST_F(Relay, TwoSilentHostsAre504) {
  const Host a([](Connection&to) { to.peer_leaves(); }), b([](Connection&to) { to.peer_leaves(); });
  configure(a.line("a") + b.line("b"));
  EXPECT_TRUE(begins(ask(kGetMap), "Status: 504 "));
}

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

TEST_F(Relay, ChunksWithoutAnEndBreakOff) {
  const Host host("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<ok/>\r\n");
  configure(host.line("a"));
  breaks_ = Exchange::Break::shows;
  ask("map=WORLD&service=WFS&request=GetFeature");
  EXPECT_TRUE(exchange_->broken_off || begins(exchange_->answer, "Status: 502 ")) << exchange_->answer;
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

TEST_F(Relay, APageInsteadOfAMapIsLookedForElsewhereOnce) {
  const Host a(page(kMessage)), b(picture()), c(picture());
  configure(a.line("a") + b.line("b") + c.line("c"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(c.requests(), 0);
}

TEST_F(Relay, APageThatTwoHostsGiveIsTheAnswer) {
  const Host a(page(kMessage)), b(page(kMessage)), c(picture());
  configure(a.line("a") + b.line("b") + c.line("c"));
  EXPECT_EQ(body_of(ask(kGetMap)), kMessage);
  EXPECT_NE(exchange_->answer.find("X-Balance-Host: b\r\n"), std::string::npos);
  EXPECT_EQ(c.requests(), 0);
}

TEST_F(Relay, APageIsBetterThanNoAnswerAtAll) {
  const DeadPort dead;
  const Host a(page(kMessage));
  configure(a.line("a") + "host = b http://127.0.0.1:" + std::to_string(dead.port()) + " probe=none\n");
  const std::string answer = ask(kGetMap);
  EXPECT_EQ(body_of(answer), kMessage);
  EXPECT_NE(answer.find("X-Balance-Host: a\r\n"), std::string::npos);
}

TEST_F(Relay, AnExceptionThatIsTheClientsFaultIsTheAnswer) {
  const std::string exception =
      "<?xml version='1.0'?><ServiceExceptionReport><ServiceException code=\"LayerNotDefined\">x</ServiceException>"
      "</ServiceExceptionReport>";
  const Host a(answer_of("200 OK", exception, "Connection: close\r\nContent-Type: application/vnd.ogc.se_xml\r\n"));
  const Host b(picture());
  configure(a.line("a") + b.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), exception);
  EXPECT_EQ(b.requests(), 0);
}

TEST_F(Relay, A502OfAHostIsLookedForElsewhere) {
  const Host a(answer_of("502 Bad Gateway", "bad", "Connection: close\r\n")), b(picture());
  configure(a.line("a") + b.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
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

TEST_F(Relay, AFailedConnectionIsToldToTheTable) {
  const DeadPort dead;
  const Host good(picture());
  configure("host = a http://127.0.0.1:" + std::to_string(dead.port()) + " probe=none\n" + good.line("b"));
  make_table();
  ask(kGetMap);
  EXPECT_EQ(table_->live(0, base::now()).outcomes.end, Relayed::no_connection);
  EXPECT_EQ(table_->live(1, base::now()).outcomes.end, Relayed::fine);
  EXPECT_EQ(table_->in_flight(0) + table_->in_flight(1), 0U);
}

TEST_F(Relay, ARequestThatFailsTwoHostsIsNotTriedOnTheOthersForAWhile) {
  const Host a([](Connection&to) { to.reset(); }), b([](Connection&to) { to.reset(); });
  const Host c(picture());
  configure(a.line("a") + b.line("b") + c.line("c"));
  make_table();
  ask(kGetMap);
  ask(kGetMap);
  ask(kGetMap);
  EXPECT_EQ(a.requests(), 3);
  EXPECT_EQ(b.requests(), 1);
  EXPECT_EQ(c.requests(), 0);
}

TEST_F(Relay, AnotherRequestIsNoKiller) {
  const Host a([](Connection&to) { to.reset(); }), b([](Connection&to) { to.reset(); });
  configure(a.line("a") + b.line("b"));
  make_table();
  ask(kGetMap);
  ask("map=WORLD&mode=map");
  EXPECT_EQ(a.requests(), 2);
  EXPECT_EQ(b.requests(), 2);
}

TEST_F(Relay, APageBindsItsClientToTheHostThatMadeIt) {
  const Host a(page("<html>")), b(page("<html>"));
  configure(a.line("a") + b.line("b"));
  make_table();
  ask("map=WORLD&mode=browse");
  EXPECT_EQ(table_->host_of_client(client_key(*base::parse_address("192.0.2.7")), base::now(), kPageKept), 0U);
}

TEST_F(Relay, AnAnswerOfMegabytesArrivesWhole) {
  const std::string big(3'000'000, 'x');
  const Host host(answer_of("200 OK", big, "Connection: close\r\nContent-Type: text/xml\r\n"));
  configure(host.line("a"));
  EXPECT_TRUE(body_of(ask("map=WORLD&service=WFS&request=GetFeature")) == big);
}

TEST_F(Relay, AConnectionIsUsedAgain) {
  std::atomic<int> connections = 0;
  const Server server([&](Connection& to) {
    ++connections;
    while (!to.read_request().empty() && to.send(answer_of("200 OK", kPng, "Content-Type: image/png\r\n"))) {
    }
  });
  configure("host = a http://127.0.0.1:" + std::to_string(server.port()) + " probe=none\n");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(connections, 1);
}

TEST_F(Relay, ManyThreadsRelayAtOnce) {
  const Host host(picture());
  configure("host = dead http://127.0.0.1:1 probe=none\n" + host.line("b"), "response-timeout = 10s\n");
  make_table();
  std::atomic<int> fine = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 5; ++k) {
          MemoryExchange exchange(std::vector<std::string>{}, "");
          RawRequest raw = get(kGetMap);
          relay(raw, exchange);
          if (body_of(exchange.answer) == kPng) ++fine;
        }
      });
    }
  }
  EXPECT_EQ(fine, 40);
  EXPECT_EQ(host.requests(), 40);
  EXPECT_EQ(table_->live(1, base::now()).in_flight, 0U);
}

TEST_F(Relay, AKeptConnectionThatTheHostHasClosedIsNoFailure) {
  const Host host(answer_of("200 OK", kPng, "Content-Type: image/png\r\n"));  // closes without saying so
  configure(host.line("a"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(host.requests(), 5);
}

}  // namespace
}  // namespace balance
