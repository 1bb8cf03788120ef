// SPDX-License-Identifier: MIT
#include "balance/front/connections.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

namespace balance {
namespace {

constexpr Connections::Id kListener = 0;

// Whether something is there to be read; an end or an error is nothing.
bool has_come(int socket) {
  char next = 0;
  return recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

// Takes what a connection that is over still brings. False: the other side has closed it, too.
bool discard(int socket) {
  std::array<char, 16384> piece;
  constexpr int kTries = 16;  // there are others
  for (int i = 0; i < kTries; ++i) {
    const ssize_t got = recv(socket, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
  }
  return true;
}

}  // namespace

base::Result<Connections> Connections::at(int listening) {
  base::Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return base::system_error("cannot make an epoll set");
  // Whoever shares the socket may take a connection between the event and our accept(2).
  const int flags = fcntl(listening, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) == 0) fcntl(listening, F_SETFL, flags | O_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListener;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, listening, &event) != 0) {
    return base::system_error("cannot watch the listening socket");
  }
  return Connections(std::move(epoll), listening);
}

Connections::Event Connections::wait(int milliseconds, const sigset_t& blocked) const {
  epoll_event event{};
  if (epoll_pwait(epoll_.get(), &event, 1, milliseconds, &blocked) < 1) return {};
  if (event.data.u64 == kListener) return {Event::What::knock, 0};
  return {Event::What::connection, event.data.u64};
}

void Connections::set_listener(std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = kListener;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listening_, &event);
}

void Connections::heed_listener() { set_listener(EPOLLIN); }
// Errors and hang-ups are told whatever is asked for; with an edge they are told once.
void Connections::ignore_listener() { set_listener(EPOLLET); }

Connections::Id Connections::add(base::Fd socket, base::Instant now) {
  Connection& connection = connections_[++last_id_];
  connection.socket = std::move(socket);
  connection.since = now;
  return last_id_;
}

bool Connections::is_limited(const Connection& connection) {
  return connection.is_new || connection.state == Connection::State::lingering;
}

void Connections::unpark(Connection& connection) {
  if (connection.state == Connection::State::served) return;
  --idle_;
  if (is_limited(connection)) --limited_;
  connection.state = Connection::State::served;
}

void Connections::arm(Id id, Connection& connection) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  event.data.u64 = id;
  const int how = std::exchange(connection.is_known, true) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  // The kernel has no memory for it: better none than one that is never heard.
  if (epoll_ctl(epoll_.get(), how, connection.socket.get(), &event) != 0) shutdown(connection.socket.get(), SHUT_RDWR);
}

void Connections::park(Id id, Connection& connection, Connection::State state, base::Instant now) {
  connection.state = state;
  // What is new stays as old as it is.
  if (!connection.is_new || state == Connection::State::lingering) connection.since = now;
  ++idle_;
  if (is_limited(connection)) ++limited_;
  arm(id, connection);
}

void Connections::put_back(Id id, base::Instant now) { park(id, connections_.at(id), Connection::State::waiting, now); }

void Connections::linger(Id id, base::Instant now) {
  Connection& connection = connections_.at(id);
  shutdown(connection.socket.get(), SHUT_WR);
  park(id, connection, Connection::State::lingering, now);
}

Connections::Connection* Connections::take(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.state == Connection::State::served) return nullptr;
  Connection& connection = found->second;
  if (connection.state == Connection::State::waiting) {
    unpark(connection);
    return &connection;
  }
  if (discard(connection.socket.get())) {
    arm(id, connection);
  } else {
    drop(id);
  }
  return nullptr;
}

void Connections::drop(Id id) {
  const auto found = connections_.find(id);
  unpark(found->second);
  // While a child of ours has not reached its exec(2) it holds the socket open, and epoll would know it on.
  if (found->second.is_known) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.socket.get(), nullptr);
  connections_.erase(found);
}

void Connections::forget(Id id) {
  const auto found = connections_.find(id);
  unpark(found->second);
  found->second.socket.release();
  connections_.erase(found);
}

std::optional<Connections::Id> Connections::longest_idle(base::Instant now) const {
  const std::pair<const Id, Connection>* longest = nullptr;
  const auto is_better = [](const Connection& a, const Connection& b) {
    return a.is_new != b.is_new ? b.is_new : a.since < b.since;
  };
  for (const auto& entry : connections_) {
    const Connection& connection = entry.second;
    if (connection.state == Connection::State::lingering) return entry.first;
    if (connection.state != Connection::State::waiting) continue;
    if (connection.is_new && now - connection.since < kGrace) continue;
    if (longest == nullptr || is_better(connection, longest->second)) longest = &entry;
  }
  return longest == nullptr ? std::nullopt : std::optional(longest->first);
}

bool Connections::dismiss(Id id) {
  Connection& connection = connections_.at(id);
  const int socket = connection.socket.get();
  // On a UNIX socket nothing can come any more after this; on TCP it may be lost, as ever when a connection is closed.
  if (connection.state != Connection::State::lingering && !has_come(socket)) shutdown(socket, SHUT_RD);
  if (connection.state != Connection::State::lingering && has_come(socket)) {
    connection.is_last = true;
    return false;
  }
  drop(id);
  return true;
}

void Connections::drop_overdue(base::Instant now, base::Seconds silence) {
  std::vector<Id> overdue;
  for (const auto& [id, connection] : connections_) {
    if (connection.state == Connection::State::served || !is_limited(connection)) continue;
    const bool lingers = connection.state == Connection::State::lingering;
    if (now - connection.since >= (lingers ? kLinger : silence)) overdue.push_back(id);
  }
  for (const Id id : overdue) drop(id);
}

void Connections::dismiss_all(New which) {
  std::vector<Id> idle;
  for (const auto& [id, connection] : connections_) {
    if (connection.state == Connection::State::served) continue;
    if (!connection.is_new || which == New::included) idle.push_back(id);
  }
  for (const Id id : idle) (void)dismiss(id);
}

}  // namespace balance
