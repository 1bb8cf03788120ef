// SPDX-License-Identifier: MIT
// Probes and web checks over the loopback network: what is asked, and how each misfortune is told.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "balance/watch/network_prober.h"
#include "balance/watch/sockets.h"
#include "loadprobe/base/clock.h"
#include "tests/unit/watch_server.h"

namespace balance {
namespace {

using testing::always;
using testing::answer_of;
using testing::Connection;
using testing::Server;

constexpr const char* kPage = "node_load1 0.5\nnode_procs_running 3\n";

HostConfig host_on(const std::string& name) {
  HostConfig host;
  host.name = "pinchot";
  host.inside.host = name;
  return host;
}

HostConfig probed_at(std::uint16_t port, ProbeKind kind = ProbeKind::loadprobe) {
  HostConfig host = host_on("127.0.0.1");
  host.probe = kind;
  host.probe_port = port;
  return host;
}

HostConfig serving_at(std::uint16_t port) {
  HostConfig host = host_on("127.0.0.1");
  host.inside.port = port;
  return host;
}

ProbeConfig patient() {
  ProbeConfig probe;
  probe.timeout = probe.web_timeout = base::Seconds{5};
  return probe;
}

// One host and what becomes of one question to it.
class Trial {
 public:
  explicit Trial(const HostConfig& host, const ProbeConfig& probe = patient(),
                 std::uint16_t port_mapper_port = kPortMapperPort, Resolver::Lookup lookup = Resolver::system_lookup)
      : resolver_(std::move(lookup)),
        prober_(*NetworkProber::create({host}, probe, RelayConfig{}, resolver_, port_mapper_port)) {}

  Outcome probe(const ProbeQuestion& question = {0, 0x0123456789abcdefU, 42}) {
    prober_.start_probe(question, base::now());
    return outcome();
  }
  Outcome web_check() {
    prober_.start_web_check(0, base::now());
    return outcome();
  }

 private:
  Outcome outcome() {
    std::vector<pollfd> others;
    const base::Instant give_up = base::now() + base::Seconds{10};
    while (base::now() < give_up) {
      std::vector<Outcome> outcomes = prober_.take(base::now());
      if (!outcomes.empty()) {
        EXPECT_EQ(outcomes.size(), 1U);
        return outcomes.front();
      }
      prober_.wait(others, base::now(), base::Seconds{1});
    }
    ADD_FAILURE() << "no outcome within 10 s";
    return {};
  }
  Resolver resolver_;
  NetworkProber prober_;
};

ProbeFailure failure_of(const Outcome& outcome) {
  const auto* failure = std::get_if<ProbeFailure>(&outcome.what);
  EXPECT_NE(failure, nullptr) << "no failure";
  return failure != nullptr ? *failure : ProbeFailure{};
}

Report report_of(const Outcome& outcome) {
  const auto* report = std::get_if<Report>(&outcome.what);
  EXPECT_NE(report, nullptr) << failure_of(outcome).what;
  return report != nullptr ? *report : Report{};
}

bool is_web_answer(const Outcome& outcome) {
  return outcome.of == Outcome::Of::web && std::holds_alternative<WebAnswer>(outcome.what);
}

std::string request_line(const std::string& request) { return request.substr(0, request.find("\r\n")); }

TEST(NetworkProber, TellsLoadprobeWhoAsksAndWhatItSent) {
  std::string request;
  {
    Server server([&request](Connection& connection) {
      request = connection.read_request();
      connection.send(answer_of("200 OK", kPage));
    });
    EXPECT_EQ(report_of(Trial(probed_at(server.port())).probe()).running, 3.0);
  }
  EXPECT_EQ(request_line(request), "GET /metrics?balancer=0123456789abcdef&dispatched=42 HTTP/1.1");
}

TEST(NetworkProber, AsksAHostThatIsEndingForItsMapProcesses) {
  std::string request;
  {
    Server server([&request](Connection& connection) {
      request = connection.read_request();
      connection.send(answer_of("200 OK", std::string(kPage) + "loadprobe_map_processes_running 2\n"));
    });
    Trial trial(probed_at(server.port()));
    ProbeQuestion question{0, 0x0123456789abcdefU, 42};
    question.map_processes = true;
    EXPECT_EQ(report_of(trial.probe(question)).map_running, 2.0);
  }
  EXPECT_EQ(request_line(request), "GET /metrics?balancer=0123456789abcdef&dispatched=42&map_processes=1 HTTP/1.1");
}

TEST(NetworkProber, AsksNodeExporterForTheFewCollectors) {
  std::string request;
  {
    Server server([&request](Connection& connection) {
      request = connection.read_request();
      connection.send(answer_of("200 OK", kPage));
    });
    EXPECT_EQ(report_of(Trial(probed_at(server.port(), ProbeKind::node_exporter)).probe()).load1, 0.5);
  }
  EXPECT_EQ(request_line(request),
            "GET /metrics?collect%5B%5D=loadavg&collect%5B%5D=stat&collect%5B%5D=cpu&collect%5B%5D=pressure HTTP/1.1");
}

TEST(NetworkProber, DoesWithoutACollectorThatNodeExporterHasDisabled) {
  std::vector<std::string> requests;
  {
    Server server([&requests](Connection& connection) {
      while (true) {
        const std::string request = connection.read_request();
        if (request.empty()) return;
        requests.push_back(request_line(request));
        const bool bad = request.find("pressure") != std::string::npos;
        connection.send(bad ? answer_of("400 Bad Request", "disabled collector: pressure")
                            : answer_of("200 OK", kPage));
      }
    });
    Trial trial(probed_at(server.port(), ProbeKind::node_exporter));
    EXPECT_EQ(report_of(trial.probe()).load1, 0.5);
    EXPECT_EQ(report_of(trial.probe()).load1, 0.5);
  }
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2], "GET /metrics?collect%5B%5D=loadavg&collect%5B%5D=stat&collect%5B%5D=cpu HTTP/1.1");
}

TEST(NetworkProber, AsksNodeExporterForEverythingWhereItRefusesEachFilter) {
  Server server([](Connection& connection) {
    for (std::string request; !(request = connection.read_request()).empty();) {
      connection.send(request.find("collect") != std::string::npos ? answer_of("400 Bad Request", "")
                                                                   : answer_of("200 OK", kPage));
    }
  });
  EXPECT_EQ(report_of(Trial(probed_at(server.port(), ProbeKind::node_exporter)).probe()).load1, 0.5);
}

TEST(NetworkProber, NamesTheSettingBehindStatus403) {
  Server server(always(answer_of("403 Forbidden", "")));
  const ProbeFailure failure = failure_of(Trial(probed_at(server.port())).probe());
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what, "HTTP status 403: its 'allow' does not have this balancer's address");
}

TEST(NetworkProber, TellsAnyOtherStatus) {
  Server server(always(answer_of("404 Not Found", "")));
  EXPECT_EQ(failure_of(Trial(probed_at(server.port())).probe()).what, "HTTP status 404");
}

TEST(NetworkProber, DoesNotBelieveARedirect) {
  Server server(always(answer_of("302 Found", kPage, "Location: http://127.0.0.1:1/\r\n")));
  EXPECT_EQ(failure_of(Trial(probed_at(server.port())).probe()).what, "HTTP status 302: redirects are not followed");
}

TEST(NetworkProber, TellsTheParsersWordsOnAPageThatIsNoReport) {
  Server server(always(answer_of("200 OK", "<html>It works!</html>\n")));
  const ProbeFailure failure = failure_of(Trial(probed_at(server.port())).probe());
  EXPECT_EQ(failure.failure, Failure::garbage);
  const auto parsed = loadprobe::parse_report("<html>It works!</html>\n");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(failure.what, parsed.error().what);
}

TEST(NetworkProber, TellsARefusedProbePort) {
  const testing::DeadPort dead;
  const ProbeFailure failure = failure_of(Trial(probed_at(dead.port())).probe());
  EXPECT_EQ(failure.failure, Failure::refused);
  EXPECT_EQ(failure.what, "connection refused");
}

TEST(NetworkProber, TellsANameThatIsNotFound) {
  HostConfig host = host_on("nowhere.example");
  const ProbeFailure failure = failure_of(Trial(host, patient(), kPortMapperPort, [](const std::string&) {
                                            return base::Error{base::Fault::unavailable, "name not found: no such"};
                                          }).probe());
  EXPECT_EQ(failure.failure, Failure::unresolvable);
  EXPECT_EQ(failure.what, "name not found: no such");
}

TEST(NetworkProber, FindsTheHostByItsName) {
  Server server(always(answer_of("200 OK", kPage)));
  HostConfig host = probed_at(server.port());
  host.inside.host = "pinchot.example";
  Trial trial(host, patient(), kPortMapperPort,
              [](const std::string&) { return std::vector<base::Address>{*base::parse_address("127.0.0.1")}; });
  EXPECT_EQ(report_of(trial.probe()).load1, 0.5);
}

TEST(NetworkProber, ALookUpThatHangsEndsAtTheProbesDeadline) {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false, left = false;
  ProbeConfig probe;
  probe.timeout = base::Seconds{0.05};
  {
    Trial trial(host_on("slow.example"), probe, kPortMapperPort,
                [&](const std::string&) -> base::Result<std::vector<base::Address>> {
                  std::unique_lock lock(mutex);
                  changed.wait(lock, [&] { return open; });
                  left = true;
                  changed.notify_all();
                  return base::Error{base::Fault::unavailable, "too late"};
                });
    const ProbeFailure failure = failure_of(trial.probe());
    EXPECT_EQ(failure.failure, Failure::unresolvable);
    EXPECT_EQ(failure.what, "name not looked up within 50ms");
  }
  std::unique_lock lock(mutex);
  open = true;
  changed.notify_all();
  changed.wait(lock, [&] { return left; });
}

TEST(NetworkProber, AWebPortThatTakesConnectionsAnswers) {
  Server server([](Connection& connection) { connection.peer_leaves(); });
  EXPECT_TRUE(is_web_answer(Trial(serving_at(server.port())).web_check()));
}

TEST(NetworkProber, TellsARefusedWebPort) {
  const testing::DeadPort dead;
  const ProbeFailure failure = failure_of(Trial(serving_at(dead.port())).web_check());
  EXPECT_EQ(failure.failure, Failure::refused);
  EXPECT_EQ(failure.what, "connection refused");
}

TEST(NetworkProber, AWebPortAnswersIfOneOfItsAddressesDoes) {
  Server server([](Connection& connection) { connection.peer_leaves(); });
  HostConfig host = serving_at(server.port());
  host.inside.host = "pinchot.example";
  Trial trial(host, patient(), kPortMapperPort, [](const std::string&) {
    return std::vector<base::Address>{*base::parse_address("127.0.0.2"), *base::parse_address("127.0.0.1")};
  });
  EXPECT_TRUE(is_web_answer(trial.web_check()));
}

TEST(NetworkProber, GivesUpOnAWebPortWhoseQueueIsFull) {
  // A listener that accepts nothing: once its queue is full the kernel drops what comes.
  const base::Fd listener = testing::bound(SOCK_STREAM);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const std::uint16_t port = testing::port_of(listener.get());
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

TEST(NetworkProber, AWebPathThatIsNotFoundIsAnAnswerAllTheSame) {
  Server server(always(answer_of("404 Not Found", "nothing")));
  ProbeConfig probe = patient();
  probe.web_path = "/healthy";
  EXPECT_TRUE(is_web_answer(Trial(serving_at(server.port()), probe).web_check()));
}

TEST(NetworkProber, AWebPathThatFailsIsTold) {
  Server server(always(answer_of("503 Service Unavailable", "")));
  ProbeConfig probe = patient();
  probe.web_path = "/healthy";
  const ProbeFailure failure = failure_of(Trial(serving_at(server.port()), probe).web_check());
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what, "HTTP status 503");
}

// mapserv says of most of its failures that all is well.
TEST(NetworkProber, TakesMapServersPageOfItsOwnFailureForNoAnswer) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<HTML>\n<HEAD><TITLE>MapServer Message"
        "</TITLE></HEAD>\n<!-- MapServer version 8.0.0 -->\n<BODY BGCOLOR=\"#FFFFFF\">\nmsLoadMap(): Unable to access "
        "file. "
        "(/srv/world.map)\n</BODY></HTML>");
  });
  ProbeConfig probe = patient();
  probe.web_path = "/cgi-bin/mapserv?map=WORLD&mode=map";
  const ProbeFailure failure = failure_of(Trial(serving_at(server.port()), probe).web_check());
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what, "MapServer Message");
}

TEST(NetworkProber, TakesMapServersPageOfAnEmptyRequestForAnAnswer) {
  Server server([](Connection& connection) {
    connection.read_request();
    connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<HTML>\n<HEAD><TITLE>MapServer Message"
        "</TITLE></HEAD>\n<BODY>\nNo query information to decode. QUERY_STRING is set, but empty.\n</BODY></HTML>");
  });
  ProbeConfig probe = patient();
  probe.web_path = "/cgi-bin/mapserv";
  EXPECT_TRUE(is_web_answer(Trial(serving_at(server.port()), probe).web_check()));
}

// Answers datagrams in a thread until it goes.
class RpcServer {
 public:
  using Answer = std::function<std::vector<std::string>(const std::string& call)>;
  explicit RpcServer(Answer answer) : socket_(testing::bound(SOCK_DGRAM)), answer_(std::move(answer)) {
    port_ = testing::port_of(socket_.get());
    thread_ = std::thread([this] { serve(); });
  }
  ~RpcServer() {
    // An empty datagram tells the thread to leave.
    const Connecting bell = start_connect(Transport::udp, *base::parse_address("127.0.0.1"), port_);
    EXPECT_EQ(::send(bell.socket.get(), "", 0, 0), 0);
    thread_.join();
  }
  std::uint16_t port() const { return port_; }

 private:
  void serve() {
    char bytes[256];
    sockaddr_in from{};
    void* where = &from;
    while (true) {
      socklen_t size = sizeof from;
      const ssize_t got = ::recvfrom(socket_.get(), bytes, sizeof bytes, 0, static_cast<sockaddr*>(where), &size);
      if (got <= 0) return;
      for (const std::string& answer : answer_(std::string(bytes, static_cast<std::size_t>(got)))) {
        ::sendto(socket_.get(), answer.data(), answer.size(), 0, static_cast<sockaddr*>(where), size);
      }
    }
  }
  base::Fd socket_;
  Answer answer_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

std::string word(std::uint32_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>((number >> shift) & 0xff));
  return out;
}

// An accepted answer to this call, with these results.
std::string accepted(const std::string& call, const std::string& results) {
  return call.substr(0, 4) + word(1) + std::string(16, '\0') + results;
}

std::string stats_of(double load1) {
  return std::string(18 * 4, '\0') + word(static_cast<std::uint32_t>(load1 * 256)) + std::string(7 * 4, '\0');
}

TEST(RstatProbes, ReadTheLoadAtAConfiguredPort) {
  RpcServer rstatd([](const std::string& call) -> std::vector<std::string> { return {accepted(call, stats_of(1.5))}; });
  EXPECT_EQ(report_of(Trial(probed_at(rstatd.port(), ProbeKind::rstat)).probe()).load1, 1.5);
}

TEST(RstatProbes, AskThePortMapperOnceAndKeepItsAnswer) {
  RpcServer rstatd([](const std::string& call) -> std::vector<std::string> { return {accepted(call, stats_of(2))}; });
  std::atomic<int> asked{0};
  RpcServer mapper([&](const std::string& call) -> std::vector<std::string> {
    ++asked;
    return {accepted(call, word(rstatd.port()))};
  });
  Trial trial(probed_at(0, ProbeKind::rstat), patient(), mapper.port());
  EXPECT_EQ(report_of(trial.probe()).load1, 2.0);
  EXPECT_EQ(report_of(trial.probe()).load1, 2.0);
  EXPECT_EQ(asked, 1);
}

TEST(RstatProbes, FollowRstatdToItsNewPort) {
  std::atomic<std::uint16_t> port{0};
  RpcServer mapper(
      [&port](const std::string& call) -> std::vector<std::string> { return {accepted(call, word(port))}; });
  Trial trial(probed_at(0, ProbeKind::rstat), patient(), mapper.port());
  {
    RpcServer first([](const std::string& call) -> std::vector<std::string> { return {accepted(call, stats_of(1))}; });
    port = first.port();
    EXPECT_EQ(report_of(trial.probe()).load1, 1.0);
  }
  RpcServer second([](const std::string& call) -> std::vector<std::string> { return {accepted(call, stats_of(2))}; });
  port = second.port();
  EXPECT_EQ(report_of(trial.probe()).load1, 2.0);
}

TEST(RstatProbes, PassOverAnswersToOtherCalls) {
  RpcServer rstatd([](const std::string& call) -> std::vector<std::string> {
    std::string forged = accepted(call, stats_of(99));
    forged[0] = static_cast<char>(~forged[0]);
    return {forged, "x", accepted(call, stats_of(3))};
  });
  EXPECT_EQ(report_of(Trial(probed_at(rstatd.port(), ProbeKind::rstat)).probe()).load1, 3.0);
}

TEST(RstatProbes, TellARefusedPort) {
  const testing::DeadPort dead(SOCK_DGRAM);
  const ProbeFailure failure = failure_of(Trial(probed_at(dead.port(), ProbeKind::rstat)).probe());
  EXPECT_EQ(failure.failure, Failure::refused);
  EXPECT_EQ(failure.what, "connection refused");
}

TEST(RstatProbes, TellARefusedPortMapper) {
  const testing::DeadPort dead(SOCK_DGRAM);
  const ProbeFailure failure = failure_of(Trial(probed_at(0, ProbeKind::rstat), patient(), dead.port()).probe());
  EXPECT_EQ(failure.what, "port mapper: connection refused");
}

TEST(RstatProbes, TellThatRstatdIsNotRegistered) {
  RpcServer mapper([](const std::string& call) -> std::vector<std::string> { return {accepted(call, word(0))}; });
  const ProbeFailure failure = failure_of(Trial(probed_at(0, ProbeKind::rstat), patient(), mapper.port()).probe());
  EXPECT_EQ(failure.failure, Failure::refused);
  EXPECT_EQ(failure.what, "port mapper: rstatd version 3 is not registered");
}

TEST(RstatProbes, GiveUpOnASilentPortMapper) {
  RpcServer mapper([](const std::string&) { return std::vector<std::string>{}; });
  ProbeConfig probe;
  probe.timeout = base::Seconds{0.05};
  const ProbeFailure failure = failure_of(Trial(probed_at(0, ProbeKind::rstat), probe, mapper.port()).probe());
  EXPECT_EQ(failure.failure, Failure::timeout);
  EXPECT_EQ(failure.what, "port mapper: no answer within 50ms");
}

TEST(RstatProbes, TellAnAnswerCutShort) {
  RpcServer rstatd([](const std::string& call) -> std::vector<std::string> { return {accepted(call, word(1))}; });
  const ProbeFailure failure = failure_of(Trial(probed_at(rstatd.port(), ProbeKind::rstat)).probe());
  EXPECT_EQ(failure.failure, Failure::garbage);
  EXPECT_EQ(failure.what, "RPC answer cut short after 28 bytes");
}

}  // namespace
}  // namespace balance
