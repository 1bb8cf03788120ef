// SPDX-License-Identifier: MIT
// The questions and answers of sock_diag(7) about listening sockets, and which of them a configured queue means.
// Floor 1: pure functions over bytes and text, any thread. Sending and receiving is listen_queues.h's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"

namespace loadprobe {

// A listening socket by its address: the path that a UNIX socket was bound to, or a TCP endpoint.
struct Queue {
  enum class Kind { unix_socket, tcp };
  Kind kind = Kind::unix_socket;
  std::string path;
  base::Endpoint endpoint;
};

// 'unix:/run/mapserv.sock', 'tcp:127.0.0.1:9000', 'tcp:[::1]:9000'.
base::Result<Queue> parse_queue(std::string_view text);
std::string to_text(const Queue& queue);

enum class Family : std::uint8_t { unix_sockets, ipv4, ipv6 };

// What a listening socket says: `waiting` connections are established and not accepted yet.
struct Listening {
  std::string path;         // of a UNIX socket; '@...' is an abstract name, "" none
  base::Endpoint endpoint;  // of a TCP socket; an IPv4 one as base::Address keeps it
  bool ipv6_alone = false;  // takes no IPv4 connections
  std::uint32_t waiting = 0;
};

// The request for all listening sockets of a family.
std::string ask_for_listening(Family family, std::uint32_t sequence);

enum class Answer { unfinished, finished };
// Adds the sockets of one datagram to `found`. Messages of another sequence are passed over. An error for what the
// kernel refused, and for bytes that are no such answer.
base::Result<Answer> take_answer(std::string_view datagram, std::uint32_t sequence, std::vector<Listening>& found);

// The connections that wait in this queue: of all sockets at its address together. A TCP address without a socket of
// its own is served by the ones at the wildcard. Nothing if nobody listens there.
std::optional<double> waiting_in(const Queue& queue, const std::vector<Listening>& listening);

}  // namespace loadprobe
