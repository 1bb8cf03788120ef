// SPDX-License-Identifier: MIT
// Floor 3. One thread.
#include "loadprobe/listen_queues.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>

#include "loadprobe/base/fd.h"

namespace loadprobe {
namespace {

using base::Result;

// The kernel answers in datagrams of at most this size to those who can take it.
constexpr std::size_t kMostDatagram = 32 << 10;

}  // namespace

Result<std::vector<Listening>> listening_sockets(Family family) {
  constexpr std::uint32_t kSequence = 1;
  // A new socket for each question, so that no old answer is in the way.
  const base::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket) return base::system_error("cannot ask for the listening sockets");
  const std::string question = ask_for_listening(family, kSequence);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket.get(), question.data(), question.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
               sizeof kernel) < 0) {
    return base::system_error("cannot ask for the listening sockets");
  }
  std::vector<Listening> found;
  std::string datagram(kMostDatagram, '\0');
  for (;;) {
    // The kernel writes each part of its answer while we fetch the one before: there is nothing to wait for.
    const ssize_t size = ::recv(socket.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return base::system_error("cannot read the listening sockets");
    const Result<Answer> answer =
        take_answer(std::string_view(datagram).substr(0, static_cast<std::size_t>(size)), kSequence, found);
    if (!answer) return answer.error();
    if (*answer == Answer::finished) return found;
  }
}

namespace {

// Asks for each family at most once.
class Found {
 public:
  Result<std::optional<double>> waiting_in(const Queue& queue) {
    std::vector<Listening> listening;
    for (const Family family : families_of(queue)) {
      const auto asked = asked_.try_emplace(family, listening_sockets(family)).first;
      if (!asked->second) return asked->second.error();
      listening.insert(listening.end(), asked->second->begin(), asked->second->end());
    }
    return loadprobe::waiting_in(queue, listening);
  }

 private:
  static std::vector<Family> families_of(const Queue& queue) {
    if (queue.kind == Queue::Kind::unix_socket) return {Family::unix_sockets};
    if (!queue.endpoint.address.is_ipv4()) return {Family::ipv6};
    return {Family::ipv4, Family::ipv6};  // a socket of IPv6 may take IPv4 too
  }

  std::map<Family, Result<std::vector<Listening>>> asked_;
};

}  // namespace

std::optional<double> ListenQueues::waiting() {
  causes_.clear();
  if (queues_.empty()) return std::nullopt;
  Found found;
  double sum = 0;
  for (const Queue& queue : queues_) {
    const Result<std::optional<double>> waiting = found.waiting_in(queue);
    if (!waiting) {
      causes_.emplace(to_text(queue), waiting.error().what);
    } else if (!*waiting) {
      causes_.emplace(to_text(queue), "nobody listens there");
    } else {
      sum += **waiting;
    }
  }
  if (!causes_.empty()) return std::nullopt;
  return sum;
}

}  // namespace loadprobe
