// SPDX-License-Identifier: MIT
// Probes over the loopback network: what is asked, and how each misfortune is told.
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "tests/unit/prober_trial.h"

namespace balance::testing {
namespace {

constexpr const char* kPage = "node_load1 0.5\nnode_procs_running 3\n";

std::string request_line(const std::string& request) { return request.substr(0, request.find("\r\n")); }

// Answers once, and keeps what it was asked.
Server::Behaviour answering(std::string& request, const std::string& page) {
  return [&request, page](Connection& connection) {
    request = connection.read_request();
    connection.send(answer_of("200 OK", page));
  };
}

TEST(NetworkProber, TellsLoadprobeWhoAsksAndWhatItSent) {
  std::string request;
  {
    Server server(answering(request, kPage));
    EXPECT_EQ(report_of(Trial(probed_at(server.port())).probe()).running, 3.0);
  }
  EXPECT_EQ(request_line(request), "GET /metrics?balancer=0123456789abcdef&dispatched=42 HTTP/1.1");
}

TEST(NetworkProber, AsksAHostThatIsEndingForItsMapProcesses) {
  std::string request;
  {
    Server server(answering(request, std::string(kPage) + "loadprobe_map_processes_running 2\n"));
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
    Server server(answering(request, kPage));
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
  const DeadPort dead;
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

}  // namespace
}  // namespace balance::testing
