// SPDX-License-Identifier: MIT
// Web checks over the loopback network: which ports answer, and how each misfortune is told.
#include <string>
#include <variant>
#include <vector>

#include "balance/watch/sockets.h"
#include "tests/unit/prober_trial.h"

namespace balance::testing {
namespace {

HostConfig serving_at(std::uint16_t port) {
  HostConfig host = host_on("127.0.0.1");
  host.inside.port = port;
  return host;
}

bool is_web_answer(const Outcome& outcome) {
  return outcome.of == Outcome::Of::web && std::holds_alternative<WebAnswer>(outcome.what);
}

ProbeConfig fetching(const std::string& path) {
  ProbeConfig probe = patient();
  probe.web_path = path;
  return probe;
}

// mapserv's page with a message; it ends with the connection.
Server::Behaviour saying(const std::string& body) {
  return [body](Connection& connection) {
    connection.read_request();
    connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
        "<HTML>\n<HEAD><TITLE>MapServer Message</TITLE></HEAD>\n" +
        body + "</HTML>");
  };
}

TEST(WebCheck, AWebPortThatTakesConnectionsAnswers) {
  Server server([](Connection& connection) { connection.peer_leaves(); });
  EXPECT_TRUE(is_web_answer(Trial(serving_at(server.port())).web_check()));
}

TEST(WebCheck, TellsARefusedWebPort) {
  const DeadPort dead;
  const ProbeFailure failure = failure_of(Trial(serving_at(dead.port())).web_check());
  EXPECT_EQ(failure.failure, Failure::refused);
  EXPECT_EQ(failure.what, "connection refused");
}

TEST(WebCheck, AWebPortAnswersIfOneOfItsAddressesDoes) {
  Server server([](Connection& connection) { connection.peer_leaves(); });
  HostConfig host = serving_at(server.port());
  host.inside.host = "pinchot.example";
  Trial trial(host, patient(), kPortMapperPort, [](const std::string&) {
    return std::vector<base::Address>{*base::parse_address("127.0.0.2"), *base::parse_address("127.0.0.1")};
  });
  EXPECT_TRUE(is_web_answer(trial.web_check()));
}

TEST(WebCheck, GivesUpOnAWebPortWhoseQueueIsFull) {
  // A listener that accepts nothing: once its queue is full the kernel drops what comes.
  const base::Fd listener = bound(SOCK_STREAM);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const std::uint16_t port = port_of(listener.get());
  std::vector<base::Fd> crowd;
  for (int i = 0; i < 8; ++i) {
    crowd.push_back(start_connect(Transport::tcp, *base::parse_address("127.0.0.1"), port).socket);
  }
  ProbeConfig probe;
  probe.web_timeout = base::Seconds{0.05};
  const ProbeFailure failure = failure_of(Trial(serving_at(port), probe).web_check());
  EXPECT_EQ(failure.failure, Failure::timeout);
  EXPECT_EQ(failure.what, "no connection within 50ms");
}

TEST(WebCheck, AWebPathThatIsNotFoundIsAnAnswerAllTheSame) {
  Server server(always(answer_of("404 Not Found", "nothing")));
  EXPECT_TRUE(is_web_answer(Trial(serving_at(server.port()), fetching("/healthy")).web_check()));
}

TEST(WebCheck, AWebPathThatFailsIsTold) {
  Server server(always(answer_of("503 Service Unavailable", "")));
  const ProbeFailure failure = failure_of(Trial(serving_at(server.port()), fetching("/healthy")).web_check());
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what, "HTTP status 503");
}

// mapserv says of most of its failures that all is well.
TEST(WebCheck, TakesMapServersPageOfItsOwnFailureForNoAnswer) {
  Server server(
      saying("<!-- MapServer version 8.0.0 -->\n<BODY BGCOLOR=\"#FFFFFF\">\n"
             "msLoadMap(): Unable to access file. (/srv/world.map)\n</BODY>"));
  const ProbeFailure failure =
      failure_of(Trial(serving_at(server.port()), fetching("/cgi-bin/mapserv?map=WORLD&mode=map")).web_check());
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what, "MapServer Message");
}

TEST(WebCheck, TakesMapServersPageOfAnEmptyRequestForAnAnswer) {
  Server server(saying("<BODY>\nNo query information to decode. QUERY_STRING is set, but empty.\n</BODY>"));
  EXPECT_TRUE(is_web_answer(Trial(serving_at(server.port()), fetching("/cgi-bin/mapserv")).web_check()));
}

}  // namespace
}  // namespace balance::testing
