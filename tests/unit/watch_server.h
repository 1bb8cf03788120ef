// SPDX-License-Identifier: MIT
// Servers on loopback that behave as badly as a test wants: each connection is handed to a function, one after another,
// in a thread of its own.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "loadprobe/base/fd.h"

namespace balance::testing {

inline std::uint16_t port_of(int fd) {
  sockaddr_in6 address{};  // the port stands at the same place in both families
  socklen_t size = sizeof address;
  void* to = &address;
  EXPECT_EQ(::getsockname(fd, static_cast<sockaddr*>(to), &size), 0);
  return ntohs(address.sin6_port);
}

// A socket bound to a free port of the loopback address.
inline base::Fd bound(int type, int family = AF_INET) {
  base::Fd fd(::socket(family, type | SOCK_CLOEXEC, 0));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  const void* from = &v4;
  if (family == AF_INET6) from = &v6;
  const socklen_t size = family == AF_INET6 ? sizeof v6 : sizeof v4;
  EXPECT_EQ(::bind(fd.get(), static_cast<const sockaddr*>(from), size), 0);
  return fd;
}

// A port at which nobody listens: bound, so that nobody else gets it meanwhile.
class DeadPort {
 public:
  explicit DeadPort(int type = SOCK_STREAM) : fd_(bound(type)) {
    // A datagram socket would swallow what comes; connected elsewhere it refuses strangers.
    if (type != SOCK_DGRAM) return;
    port_ = port_of(fd_.get());
    fd_.close();
  }
  std::uint16_t port() const { return port_ != 0 ? port_ : port_of(fd_.get()); }

 private:
  base::Fd fd_;
  std::uint16_t port_ = 0;
};

// What a connection of the server can do.
class Connection {
 public:
  Connection(int fd, int quit) : fd_(fd), quit_(quit) {}

  // Reads one request to its empty line; "" once the peer has gone or the test is over.
  std::string read_request() {
    std::string request;
    while (request.find("\r\n\r\n") == std::string::npos) {
      char byte = 0;
      if (!ready(POLLIN, -1) || ::read(fd_.get(), &byte, 1) != 1) return "";
      request.push_back(byte);
    }
    return request;
  }
  // So many bytes of a body; fewer once the peer has gone or the test is over.
  std::string read_bytes(std::size_t count) {
    std::string bytes;
    while (bytes.size() < count) {
      char piece[16384];
      if (!ready(POLLIN, -1)) break;
      const ssize_t got = ::read(fd_.get(), piece, std::min(sizeof piece, count - bytes.size()));
      if (got <= 0) break;
      bytes.append(piece, static_cast<std::size_t>(got));
    }
    return bytes;
  }
  // False once the peer has gone or the test is over.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!ready(POLLOUT, -1)) return false;
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Waits until the peer closes, at most so long; true if it has.
  bool peer_leaves(int milliseconds = -1) {
    char byte = 0;
    return !ready(POLLIN, milliseconds) ? is_over() : ::read(fd_.get(), &byte, 1) <= 0;
  }
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.close();
  }

 private:
  bool is_over() const {
    pollfd quit{quit_, POLLIN, 0};
    return ::poll(&quit, 1, 0) > 0;
  }
  bool ready(short what, int milliseconds) {
    pollfd both[2] = {{fd_.get(), what, 0}, {quit_, POLLIN, 0}};
    return ::poll(both, 2, milliseconds) > 0 && both[1].revents == 0 && both[0].revents != 0;
  }
  base::Fd fd_;
  int quit_;
};

class Server {
 public:
  using Behaviour = std::function<void(Connection&)>;

  explicit Server(Behaviour behaviour, int family = AF_INET)
      : behaviour_(std::move(behaviour)), listener_(bound(SOCK_STREAM, family)) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    quit_read_ = base::Fd(ends[0]);
    quit_write_ = base::Fd(ends[1]);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    port_ = port_of(listener_.get());
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    quit_write_.close();  // the other end becomes readable
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void serve() {
    while (true) {
      pollfd both[2] = {{listener_.get(), POLLIN, 0}, {quit_read_.get(), POLLIN, 0}};
      if (::poll(both, 2, -1) < 0 || both[1].revents != 0) return;
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++connections_;
      Connection connection(fd, quit_read_.get());
      behaviour_(connection);
    }
  }
  Behaviour behaviour_;
  base::Fd listener_, quit_read_, quit_write_;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::thread thread_;
};

inline std::string answer_of(std::string_view status, std::string_view body, std::string_view headers = "") {
  return "HTTP/1.1 " + std::string(status) + "\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// Answers every request of every connection.
inline Server::Behaviour always(std::string answer) {
  return [answer = std::move(answer)](Connection& connection) {
    while (!connection.read_request().empty() && connection.send(answer)) {
    }
  };
}

}  // namespace balance::testing
