// SPDX-License-Identifier: MIT
// The server over loopback sockets, its loop turned by hand.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "loadprobe/listener.h"
#include "loadprobe/server.h"

namespace loadprobe {
namespace {

class Served : public testing::Test {
 protected:
  Served() {
    listener_ = std::move(*listen_at(*base::parse_endpoint("127.0.0.1:0")));
    server_ = std::move(*Server::start([this](const Question& question, const base::Address& peer) {
      asked_ += std::string(question.method) + " " + std::string(question.path) + " " +
                std::string(question.balancer.value_or("-")) + " " + std::string(question.dispatched.value_or("-")) +
                " " + base::to_text(peer) + "\n";
      return Reply{question.path == "/none" ? 404U : 200U, "text/plain", "body\n"};
    }));
  }

  base::Fd connect() {
    base::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(listener_.place.port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    server_->take(base::Fd(::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
    return client;
  }

  // Sends, and lets the server work until what comes back ends as wanted; "closed" stands for the connection's end. The
  // kernel may take its time between the two ends, so it is waited for; seconds of silence are a failure.
  std::string exchange(const base::Fd& client, std::string_view request, std::string_view wanted_end) {
    constexpr std::chrono::seconds kMostSilence{5};
    EXPECT_EQ(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    if (wanted_end.empty()) ::shutdown(client.get(), SHUT_WR);
    std::string answer;
    for (auto heard = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - heard < kMostSilence;) {
      const int others[] = {client.get()};
      EXPECT_TRUE(server_->turn(others, kMostSilence));
      char buffer[4096];
      const ssize_t got = ::recv(client.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      // A server that closes with something unread resets the connection.
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return answer + "closed";
      if (got < 0) continue;
      answer.append(buffer, static_cast<std::size_t>(got));
      heard = std::chrono::steady_clock::now();
      if (!wanted_end.empty() && answer.ends_with(wanted_end)) return answer;
    }
    return answer;
  }

  std::string asked_;
  Listener listener_;
  std::unique_ptr<Server> server_;
};

TEST_F(Served, AConnectionIsKeptAndAskedAgain) {
  const base::Fd client = connect();
  constexpr auto kRequest = "GET /metrics?balancer=00ff&dispatched=7&x=%41 HTTP/1.1\r\nHost: a\r\n\r\n";
  for (int i = 0; i < 2; ++i) {
    const std::string answer = exchange(client, kRequest, "body\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nbody\n")) << answer;
    EXPECT_NE(answer.find("Content-Type: text/plain\r\n"), std::string::npos);
  }
  EXPECT_EQ(asked_, "GET /metrics 00ff 7 127.0.0.1\nGET /metrics 00ff 7 127.0.0.1\n");
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(Served, HeadHasNoBody) {
  const std::string answer = exchange(connect(), "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST_F(Served, ARefusalClosesTheConnection) {
  const std::string answer = exchange(connect(), "GET /none HTTP/1.1\r\nHost: a\r\n\r\n", "closed");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 404")) << answer;
  EXPECT_TRUE(answer.ends_with("body\nclosed")) << answer;
}

TEST_F(Served, ABodyIsNotWaitedFor) {
  const std::string answer =
      exchange(connect(), "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nstart", "body\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_EQ(asked_, "POST /metrics - - 127.0.0.1\n");
}

TEST_F(Served, AnOversizedRequestIsRefusedUnasked) {
  const std::string answer =
      exchange(connect(), "GET /" + std::string(20000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", "closed");
  EXPECT_TRUE(answer.ends_with("closed")) << answer;
  EXPECT_EQ(asked_, "");
}

TEST_F(Served, EveryTruncationOfARequestIsClosedUnasked) {
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t size = 1; size < kRequest.size(); ++size) {
    EXPECT_TRUE(exchange(connect(), kRequest.substr(0, size), "").ends_with("closed")) << size;
  }
  EXPECT_EQ(asked_, "");
}

TEST_F(Served, AnEndOfStreamThatComesWithTheLastBytesIsSeen) {
  const base::Fd client = connect();
  const std::string answer = exchange(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "");
  EXPECT_TRUE(answer.ends_with("body\nclosed")) << answer;
}

TEST_F(Served, AConnectionTooManyIsClosed) {
  std::vector<base::Fd> clients;
  for (unsigned i = 0; i < Server::kMostConnections; ++i) clients.push_back(connect());
  EXPECT_EQ(server_->connections(), Server::kMostConnections);
  const base::Fd late = connect();
  char byte = 0;
  EXPECT_EQ(::recv(late.get(), &byte, 1, 0), 0);
  EXPECT_TRUE(exchange(clients.front(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "body\n").starts_with("HTTP/1.1 200"));
}

TEST(Listener, APortInUseIsNamed) {
  const auto first = listen_at(*base::parse_endpoint("127.0.0.1:0"));
  ASSERT_TRUE(first);
  EXPECT_NE(first->place.port, 0);
  const auto second = listen_at(first->place);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().what, "cannot listen at " + to_text(first->place) + ": Address already in use");
}

TEST(Listener, WritesPlacesAsTheyAreRead) {
  for (const char* text : {"127.0.0.1:9719", "[::]:9719", "[2001:db8::7]:1"}) {
    EXPECT_EQ(to_text(*base::parse_endpoint(text)), text);
  }
}

TEST(Listener, ReadsTheAddressesOfBothFamilies) {
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_addr.s_addr = htonl(0xC0000201);
  EXPECT_EQ(base::to_text(address_of(reinterpret_cast<const sockaddr&>(ipv4))), "192.0.2.1");
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_addr = in6addr_loopback;
  EXPECT_EQ(base::to_text(address_of(reinterpret_cast<const sockaddr&>(ipv6))), "::1");
}

}  // namespace
}  // namespace loadprobe
