// SPDX-License-Identifier: MIT
// Floor 1: pure functions over bytes and text, any thread.
#include "loadprobe/sock_diag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>

#include <algorithm>
#include <cstring>

#include "loadprobe/base/text.h"

namespace loadprobe {
namespace {

using base::Error;
using base::Fault;
using base::Result;

constexpr std::uint32_t kListen = 10;  // the state of both families, TCP_LISTEN
constexpr std::string_view kUnix = "unix:", kTcp = "tcp:";

// The bytes of T at the front of `text`, which are taken away; nothing if it is too short.
template <class T>
std::optional<T> take(std::string_view& text) {
  if (text.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return value;
}

// Messages and attributes begin at multiples of four bytes.
constexpr std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

Error no_answer(const char* what) {
  return Error{Fault::input, std::string("the kernel's answer is cut off; wanted ") + what};
}

// Calls take(type, bytes) for each attribute; false if one is cut off.
template <class Take>
bool for_each_attribute(std::string_view rest, Take take_one) {
  while (rest.size() >= sizeof(nlattr)) {
    std::string_view front = rest;
    const nlattr head = *take<nlattr>(front);
    if (head.nla_len < sizeof(nlattr) || head.nla_len > rest.size()) return false;
    take_one(head.nla_type & NLA_TYPE_MASK, front.substr(0, head.nla_len - sizeof(nlattr)));
    rest.remove_prefix(std::min(aligned(head.nla_len), rest.size()));
  }
  return true;
}

// A name as the kernel keeps it: a path may or may not end with a zero byte, an abstract name begins with one.
std::string shown_name(std::string_view name) {
  if (name.starts_with('\0')) return "@" + std::string(name.substr(1));
  return std::string(name.substr(0, name.find('\0')));
}

bool take_unix_socket(std::string_view body, std::vector<Listening>& found) {
  const std::optional<unix_diag_msg> message = take<unix_diag_msg>(body);
  if (!message) return false;
  if (message->udiag_state != kListen) return true;
  Listening socket;
  bool told = false;
  const bool whole = for_each_attribute(body, [&](int type, std::string_view bytes) {
    if (type == UNIX_DIAG_NAME) socket.path = shown_name(bytes);
    if (type != UNIX_DIAG_RQLEN) return;
    const std::optional<unix_diag_rqlen> length = take<unix_diag_rqlen>(bytes);
    told = length.has_value();
    if (length) socket.waiting = length->udiag_rqueue;
  });
  if (whole && told) found.push_back(std::move(socket));
  return whole;
}

base::Address address_of(const inet_diag_msg& message) {
  base::Address address;
  if (message.idiag_family == AF_INET6) {
    std::memcpy(address.bytes.data(), message.id.idiag_src, 16);
  } else {
    address.bytes[10] = address.bytes[11] = 0xFF;
    std::memcpy(address.bytes.data() + 12, message.id.idiag_src, 4);
  }
  return address;
}

bool take_tcp_socket(std::string_view body, std::vector<Listening>& found) {
  const std::optional<inet_diag_msg> message = take<inet_diag_msg>(body);
  if (!message) return false;
  if (message->idiag_state != kListen) return true;
  Listening socket;
  socket.endpoint = base::Endpoint{address_of(*message), ntohs(message->id.idiag_sport)};
  socket.waiting = message->idiag_rqueue;
  const bool whole = for_each_attribute(body, [&](int type, std::string_view bytes) {
    if (type == INET_DIAG_SKV6ONLY && !bytes.empty()) socket.ipv6_alone = bytes.front() != 0;
  });
  if (whole) found.push_back(std::move(socket));
  return whole;
}

// A message is finished by its end, or by an error number of 0 (an acknowledgement).
Result<Answer> end_of(std::string_view body) {
  const std::optional<std::int32_t> number = take<std::int32_t>(body);
  if (!number) return no_answer("an error number");
  if (*number == 0) return Answer::finished;
  return Error{Fault::io, "the kernel refuses to tell the listening sockets: " + std::string(std::strerror(-*number))};
}

template <class Wanted>
std::optional<double> sum_of(const std::vector<Listening>& listening, Wanted wanted) {
  std::optional<double> sum;
  for (const Listening& socket : listening) {
    if (wanted(socket)) sum = sum.value_or(0) + socket.waiting;
  }
  return sum;
}

base::Address wildcard_of(const base::Address& address) {
  return address.is_ipv4() ? *base::parse_address("0.0.0.0") : base::Address{};
}

std::optional<double> waiting_at(const base::Endpoint& endpoint, const std::vector<Listening>& listening) {
  const auto sum_at = [&](const base::Address& address, bool for_ipv4) {
    return sum_of(listening, [&](const Listening& socket) {
      return socket.path.empty() && socket.endpoint.port == endpoint.port && socket.endpoint.address == address &&
             !(for_ipv4 && socket.ipv6_alone);
    });
  };
  // As the kernel looks for the socket of a new connection.
  std::optional<double> sum = sum_at(endpoint.address, false);
  if (!sum) sum = sum_at(wildcard_of(endpoint.address), false);
  if (!sum && endpoint.address.is_ipv4()) sum = sum_at(base::Address{}, true);
  return sum;
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Result<Queue> parse_queue(std::string_view text) {
  constexpr std::size_t kLongestPath = 107;
  if (text.starts_with(kUnix)) {
    const std::string_view path = text.substr(kUnix.size());
    if (path.starts_with('/') && path.size() <= kLongestPath && !path.ends_with('/')) {
      return Queue{Queue::Kind::unix_socket, std::string(path), {}};
    }
  } else if (text.starts_with(kTcp)) {
    const Result<base::Endpoint> endpoint = base::parse_endpoint(text.substr(kTcp.size()));
    if (endpoint && endpoint->port != 0) return Queue{Queue::Kind::tcp, "", *endpoint};
  }
  return Error{Fault::usage, "'" + base::escaped(text) +
                                 "' is no listening socket; wanted 'unix:/PATH' or 'tcp:ADDRESS:PORT' with a numeric "
                                 "address"};
}

std::string to_text(const Queue& queue) {
  if (queue.kind == Queue::Kind::unix_socket) return std::string(kUnix) + queue.path;
  const std::string address = base::to_text(queue.endpoint.address);
  const bool ipv4 = queue.endpoint.address.is_ipv4();
  return std::string(kTcp) + (ipv4 ? address : "[" + address + "]") + ":" + std::to_string(queue.endpoint.port);
}

std::string ask_for_listening(Family family, std::uint32_t sequence) {
  std::string body;
  if (family == Family::unix_sockets) {
    unix_diag_req request{};
    request.sdiag_family = AF_UNIX;
    request.udiag_states = 1U << kListen;
    request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_RQLEN;
    append(body, request);
  } else {
    inet_diag_req_v2 request{};
    request.sdiag_family = family == Family::ipv4 ? AF_INET : AF_INET6;
    request.sdiag_protocol = IPPROTO_TCP;
    request.idiag_states = 1U << kListen;
    append(body, request);
  }
  nlmsghdr head{};
  head.nlmsg_len = static_cast<std::uint32_t>(sizeof head + body.size());
  head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  head.nlmsg_seq = sequence;
  std::string message;
  append(message, head);
  return message + body;
}

Result<Answer> take_answer(std::string_view datagram, std::uint32_t sequence, std::vector<Listening>& found) {
  while (!datagram.empty()) {
    std::string_view front = datagram;
    const std::optional<nlmsghdr> head = take<nlmsghdr>(front);
    if (!head || head->nlmsg_len < sizeof(nlmsghdr) || head->nlmsg_len > datagram.size()) return no_answer("a message");
    const std::string_view body = front.substr(0, head->nlmsg_len - sizeof(nlmsghdr));
    datagram.remove_prefix(std::min(aligned(head->nlmsg_len), datagram.size()));
    if (head->nlmsg_seq != sequence) continue;
    if (head->nlmsg_type == NLMSG_DONE) return Answer::finished;
    if (head->nlmsg_type == NLMSG_ERROR) return end_of(body);
    if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY || body.empty()) continue;
    const bool whole = body.front() == AF_UNIX ? take_unix_socket(body, found) : take_tcp_socket(body, found);
    if (!whole) return no_answer("a listening socket");
  }
  return Answer::unfinished;
}

std::optional<double> waiting_in(const Queue& queue, const std::vector<Listening>& listening) {
  if (queue.kind == Queue::Kind::tcp) return waiting_at(queue.endpoint, listening);
  return sum_of(listening, [&](const Listening& socket) { return socket.path == queue.path; });
}

}  // namespace loadprobe
