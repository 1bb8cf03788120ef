// SPDX-License-Identifier: MIT
// The HTTP client against servers that refuse, reset, stay silent, trickle, never end, or talk nonsense.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "balance/watch/http.h"
#include "loadprobe/base/clock.h"
#include "tests/unit/watch_server.h"

namespace balance {
namespace {

using testing::always;
using testing::answer_of;
using testing::Connection;
using testing::Server;

HttpQuestion question_for(std::uint16_t port, double timeout = 5) {
  HttpQuestion question;
  question.server.host = "pinchot.example";  // never looked up
  question.server.port = port;
  question.target = "/metrics";
  question.addresses = {*base::parse_address("127.0.0.1")};
  question.timeout = base::Seconds{timeout};
  return question;
}

HttpClient client(std::size_t slots = 1) {
  base::Result<HttpClient> made = HttpClient::create(slots, RelayConfig{});
  EXPECT_TRUE(made);
  return *std::move(made);
}

HttpOutcome outcome_of(HttpClient& http) {
  std::vector<pollfd> others;
  const base::Instant give_up = base::now() + base::Seconds{10};
  while (base::now() < give_up) {
    http.wait(others, base::Seconds{1});
    std::vector<HttpOutcome> outcomes = http.take();
    if (!outcomes.empty()) return std::move(outcomes.front());
  }
  ADD_FAILURE() << "no outcome within 10 s";
  return {};
}

HttpOutcome ask(HttpClient& http, const HttpQuestion& question) {
  EXPECT_TRUE(http.start(0, question));
  return outcome_of(http);
}

HttpOutcome ask(const HttpQuestion& question) {
  HttpClient http = client();
  return ask(http, question);
}

std::string body_of(const HttpOutcome& outcome) {
  const auto* answer = std::get_if<HttpAnswer>(&outcome.what);
  return answer != nullptr ? answer->body : "failure: " + std::get<ProbeFailure>(outcome.what).what;
}

ProbeFailure failure_of(const HttpOutcome& outcome) {
  const auto* failure = std::get_if<ProbeFailure>(&outcome.what);
  EXPECT_NE(failure, nullptr);
  return failure != nullptr ? *failure : ProbeFailure{};
}

TEST(HttpClient, BringsTheBody) {
  Server server(always(answer_of("200 OK", "node_load1 1\n")));
  EXPECT_EQ(body_of(ask(question_for(server.port()))), "node_load1 1\n");
}

TEST(HttpClient, NamesTheHostInTheRequest) {
  std::string request;
  {
    Server server([&request](Connection& connection) {
      request = connection.read_request();
      connection.send(answer_of("200 OK", ""));
    });
    ask(question_for(server.port()));
  }
  EXPECT_EQ(request.substr(0, request.find("\r\n")), "GET /metrics HTTP/1.1");
  EXPECT_NE(request.find("\r\nHost: pinchot.example:"), std::string::npos);
}

TEST(HttpClient, TriesTheNextAddressWhereTheFirstRefuses) {
  Server server(always(answer_of("200 OK", "here")));
  HttpQuestion question = question_for(server.port());
  question.addresses = {*base::parse_address("127.0.0.2"), *base::parse_address("127.0.0.1")};
  EXPECT_EQ(body_of(ask(question)), "here");
}

TEST(HttpClient, KeepsTheConnection) {
  Server server(always(answer_of("200 OK", "again")));
  HttpClient http = client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(body_of(ask(http, question_for(server.port()))), "again");
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, KeepsTheConnectionsOfAllSlots) {
  Server one(always(answer_of("200 OK", "one"))), two(always(answer_of("200 OK", "two")));
  HttpClient http = client(2);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(http.start(0, question_for(one.port())));
    EXPECT_EQ(body_of(outcome_of(http)), "one");
    ASSERT_TRUE(http.start(1, question_for(two.port())));
    EXPECT_EQ(body_of(outcome_of(http)), "two");
  }
  EXPECT_EQ(one.connections(), 1);
  EXPECT_EQ(two.connections(), 1);
}

TEST(HttpClient, AsksAgainWhereAKeptConnectionWasClosedByThePeer) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send(answer_of("200 OK", "once"));
  });
  HttpClient http = client();
  EXPECT_EQ(body_of(ask(http, question_for(server.port()))), "once");
  EXPECT_EQ(body_of(ask(http, question_for(server.port()))), "once");
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpClient, TellsRefused) {
  const testing::DeadPort dead;
  const ProbeFailure failure = failure_of(ask(question_for(dead.port())));
  EXPECT_EQ(failure.failure, Failure::refused);
  EXPECT_EQ(failure.what, "connection refused");
}

TEST(HttpClient, ReachesAnIpv6Literal) {
  Server server(always(answer_of("200 OK", "here")), AF_INET6);
  HttpQuestion question = question_for(server.port());
  question.server.host = "::1";
  question.addresses = {*base::parse_address("::1")};
  EXPECT_EQ(body_of(ask(question)), "here");
}

TEST(HttpClient, ReachesAnIpv4Literal) {
  Server server(always(answer_of("200 OK", "here")));
  HttpQuestion question = question_for(server.port());
  question.server.host = "127.0.0.1";
  EXPECT_EQ(body_of(ask(question)), "here");
}

TEST(HttpClient, TellsReset) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.reset();
  });
  const ProbeFailure failure = failure_of(ask(question_for(server.port())));
  EXPECT_EQ(failure.failure, Failure::reset);
  EXPECT_EQ(failure.what, "connection reset");
}

TEST(HttpClient, TellsResetInMidAnswer) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    connection.reset();
  });
  EXPECT_EQ(failure_of(ask(question_for(server.port()))).failure, Failure::reset);
}

TEST(HttpClient, GivesUpOnASilentServer) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.peer_leaves();
  });
  const ProbeFailure failure = failure_of(ask(question_for(server.port(), 0.05)));
  EXPECT_EQ(failure.failure, Failure::timeout);
  EXPECT_EQ(failure.what, "no answer within 50ms");
}

TEST(HttpClient, GivesUpOnATricklingServerAtTheSameDeadline) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    while (!connection.peer_leaves(5)) connection.send("x");
  });
  EXPECT_EQ(failure_of(ask(question_for(server.port(), 0.1))).what, "no answer within 100ms");
}

TEST(HttpClient, BoundsAnEndlessAnswer) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.send(std::string(4096, 'x'))) {
    }
  });
  const ProbeFailure failure = failure_of(ask(question_for(server.port())));
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what, "answer longer than 262144 bytes");
}

TEST(HttpClient, BoundsAnEndlessHeader) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\n");
    while (connection.send("X-More: and more\r\n")) {
    }
  });
  EXPECT_EQ(failure_of(ask(question_for(server.port()))).what, "answer's header longer than 65536 bytes");
}

TEST(HttpClient, BoundsEndlessInterimAnswers) {
  Server server([](Connection& connection) {
    connection.read_request();
    while (connection.send("HTTP/1.1 100 Continue\r\n\r\n")) {
    }
  });
  EXPECT_EQ(failure_of(ask(question_for(server.port()))).what, "answer's header longer than 65536 bytes");
}

TEST(HttpClient, TakesALongBodyForAnAnswerWhereTheStatusIsEnough) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 404 Not Found\r\n\r\n");
    while (connection.send(std::string(4096, 'x'))) {
    }
  });
  HttpQuestion question = question_for(server.port());
  question.want = HttpQuestion::Want::beginning;
  const HttpOutcome outcome = ask(question);
  const auto* answer = std::get_if<HttpAnswer>(&outcome.what);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->status, 404U);
  EXPECT_EQ(answer->body, std::string(kFirstBytes, 'x'));
}

TEST(HttpClient, TellsTheContentType) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 2\r\n\r\nok");
  });
  const HttpOutcome outcome = ask(question_for(server.port()));
  const auto* answer = std::get_if<HttpAnswer>(&outcome.what);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->type, "text/html; charset=utf-8");
}

TEST(HttpClient, TellsAnAnswerCutShort) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  });
  const ProbeFailure failure = failure_of(ask(question_for(server.port())));
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what, "connection closed in mid-answer");
}

TEST(HttpClient, TellsAConnectionClosedWithoutAWord) {
  Server server([](Connection& connection) { connection.read_request(); });
  EXPECT_EQ(failure_of(ask(question_for(server.port()))).what, "connection closed without an answer");
}

TEST(HttpClient, TellsWhatIsNotHttp) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send("SSH-2.0-OpenSSH_9.2\r\n");
  });
  const ProbeFailure failure = failure_of(ask(question_for(server.port())));
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what.substr(0, 14), "no HTTP answer");
}

TEST(HttpClient, DoesNotFollowARedirect) {
  Server elsewhere(always(answer_of("200 OK", "elsewhere")));
  Server server(
      always(answer_of("302 Found", "", "Location: http://127.0.0.1:" + std::to_string(elsewhere.port()) + "/\r\n")));
  const HttpOutcome outcome = ask(question_for(server.port()));
  const auto* answer = std::get_if<HttpAnswer>(&outcome.what);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->status, 302U);
  EXPECT_EQ(elsewhere.connections(), 0);
}

TEST(HttpClient, TakesNoProxyFromTheEnvironment) {
  const testing::DeadPort dead;
  ::setenv("http_proxy", ("http://127.0.0.1:" + std::to_string(dead.port())).c_str(), 1);
  Server server(always(answer_of("200 OK", "direct")));
  EXPECT_EQ(body_of(ask(question_for(server.port()))), "direct");
  ::unsetenv("http_proxy");
}

TEST(HttpClient, AFailureDoesNotStickToItsSlot) {
  const testing::DeadPort dead;
  Server server(always(answer_of("200 OK", "fine")));
  HttpClient http = client();
  EXPECT_EQ(failure_of(ask(http, question_for(dead.port()))).failure, Failure::refused);
  EXPECT_EQ(body_of(ask(http, question_for(server.port()))), "fine");
  EXPECT_EQ(failure_of(ask(http, question_for(dead.port()))).failure, Failure::refused);
}

TEST(HttpClient, FollowsANameToItsNewAddress) {
  const testing::DeadPort dead;
  Server server(always(answer_of("200 OK", "moved")));
  HttpClient http = client();
  HttpQuestion question = question_for(server.port());
  question.addresses = {*base::parse_address("127.0.0.2")};
  EXPECT_EQ(failure_of(ask(http, question)).failure, Failure::refused);
  question.addresses = {*base::parse_address("127.0.0.1")};
  EXPECT_EQ(body_of(ask(http, question)), "moved");
}

TEST(HttpClient, WakesForAnothersDescriptor) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const base::Fd read_end(ends[0]), write_end(ends[1]);
  ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
  HttpClient http = client();
  std::vector<pollfd> others{{read_end.get(), POLLIN, 0}};
  http.wait(others, base::Seconds{60});
  EXPECT_EQ(others[0].revents, POLLIN);
}

}  // namespace
}  // namespace balance
