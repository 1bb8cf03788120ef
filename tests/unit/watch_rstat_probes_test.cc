// SPDX-License-Identifier: MIT
// Probes of hosts that run rpc.rstatd, over the loopback network.
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "balance/watch/sockets.h"
#include "tests/unit/prober_trial.h"

namespace balance::testing {
namespace {

// Answers datagrams in a thread until it goes.
class RpcServer {
 public:
  using Answer = std::function<std::vector<std::string>(const std::string& call)>;
  explicit RpcServer(Answer answer) : socket_(bound(SOCK_DGRAM)), answer_(std::move(answer)) {
    port_ = port_of(socket_.get());
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

// An rstatd whose host has this load.
RpcServer::Answer saying(double load1) {
  return [load1](const std::string& call) -> std::vector<std::string> { return {accepted(call, stats_of(load1))}; };
}

TEST(RstatProbes, ReadTheLoadAtAConfiguredPort) {
  RpcServer rstatd(saying(1.5));
  EXPECT_EQ(report_of(Trial(probed_at(rstatd.port(), ProbeKind::rstat)).probe()).load1, 1.5);
}

TEST(RstatProbes, AskThePortMapperOnceAndKeepItsAnswer) {
  RpcServer rstatd(saying(2));
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
    RpcServer first(saying(1));
    port = first.port();
    EXPECT_EQ(report_of(trial.probe()).load1, 1.0);
  }
  RpcServer second(saying(2));
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
  const DeadPort dead(SOCK_DGRAM);
  const ProbeFailure failure = failure_of(Trial(probed_at(dead.port(), ProbeKind::rstat)).probe());
  EXPECT_EQ(failure.failure, Failure::refused);
  EXPECT_EQ(failure.what, "connection refused");
}

TEST(RstatProbes, TellARefusedPortMapper) {
  const DeadPort dead(SOCK_DGRAM);
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
}  // namespace balance::testing
