// SPDX-License-Identifier: MIT
#include "balance/front/crew.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "loadprobe/base/clock.h"
#include "loadprobe/base/log.h"

namespace balance {
namespace {

// Interrupts a thread of ours that accepts. Blocked in all of them except then, so it never cuts a request.
constexpr int kWake = SIGUSR2;
constexpr std::size_t kStackBytes = std::size_t{256} * 1024;
// A new connection has brought, or is about to bring, the request that it was opened for.
constexpr int kGraceMs = 100;

void do_nothing(int) {}

void install_wake() {
  struct sigaction action {};
  action.sa_handler = do_nothing;  // and no SA_RESTART: accept(2) is to return
  sigaction(kWake, &action, nullptr);
}

sigset_t only_wake() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kWake);
  return set;
}

}  // namespace

Crew::Crew(int listening, Limits limits, Serve serve)
    : listening_(listening), limits_(limits), serve_(std::move(serve)) {
  install_wake();
}

base::Status Crew::start() {
  std::unique_lock lock(mutex_);
  return add_thread(lock);
}

base::Status Crew::add_thread(std::unique_lock<std::mutex>&) {
  Seat& seat = seats_.emplace_back(Seat(*this));
  const sigset_t wake = only_wake();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &wake, &before);  // the new thread inherits it
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const int error = pthread_create(&seat.thread_, &attributes, run, &seat);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) {
    short_of_threads_ = false;
    return base::ok();
  }
  seats_.pop_back();
  return base::Error{base::Fault::io, std::string("cannot start a thread: ") + strerror(error)};
}

void* Crew::run(void* argument) {
  Seat& seat = *static_cast<Seat*>(argument);
  seat.crew_.work(seat);
  return nullptr;
}

void Crew::work(Seat& seat) {
  while (begin_accepting(seat)) {
    const int connection = accept_one();
    const int error = errno;
    end_accepting(seat, connection);
    if (connection >= 0) {
      serve_(base::Fd(connection), seat);
    } else if (!survives(error)) {
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  seats_.remove_if([&seat](const Seat& other) { return &other == &seat; });
  left_.notify_all();
}

bool Crew::begin_accepting(Seat& seat) {
  const std::lock_guard lock(mutex_);
  seat.state_ = Seat::State::busy;
  if (std::exchange(seat.gives_way_, false)) --giving_way_;
  if (finishing_ || !failure_.empty() || accepting_ >= limits_.spare) return false;
  seat.state_ = Seat::State::accepting;
  seat.asked_to_yield_ = false;
  seat.is_new_ = true;
  ++accepting_;
  return true;
}

int Crew::accept_one() {
  const sigset_t wake = only_wake();
  pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
  const int connection = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
  const int error = errno;
  pthread_sigmask(SIG_BLOCK, &wake, nullptr);
  errno = error;
  return connection;
}

void Crew::end_accepting(Seat& seat, int connection) {
  std::unique_lock lock(mutex_);
  seat.state_ = Seat::State::busy;
  --accepting_;
  if (connection < 0 || accepting_ > 0 || finishing_) return;
  if (seats_.size() >= limits_.most) {
    make_room();
  } else if (const base::Status added = add_thread(lock); !added) {
    if (!std::exchange(short_of_threads_, true)) {
      base::log(base::Level::warning, "cannot grow", {{"cause", added.error().what}});
    }
    make_room();
  }
}

// REQUIRES: the lock is held.
void Crew::make_room() {
  Seat* longest = nullptr;
  for (Seat& seat : seats_) {
    if (seat.state_ != Seat::State::idle || seat.is_new_ || seat.asked_to_yield_) continue;
    if (longest == nullptr || seat.idle_since_ < longest->idle_since_) longest = &seat;
  }
  if (longest == nullptr) return;  // whoever finishes first will see that it is crowded
  longest->asked_to_yield_ = true;
  longest->hang_up();
}

// REQUIRES: the lock is held.
bool Crew::is_crowded() const { return accepting_ == 0 && (seats_.size() >= limits_.most || short_of_threads_); }

bool Crew::survives(int accept_error) {
  switch (accept_error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENONET:
    case ENOPROTOOPT:
    case ETIMEDOUT:
    case EPERM:
      return true;
    case EAGAIN: {  // somebody who shares the socket made it non-blocking
      constexpr int kLookAgainMs = 100;
      pollfd interest{listening_, POLLIN, 0};
      poll(&interest, 1, kLookAgainMs);
      return true;
    }
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: {
      // A connection waits, and accepting would fail again at once; meanwhile others may end.
      constexpr int kPauseMs = 50;
      {
        const std::lock_guard lock(mutex_);
        if (!std::exchange(short_of_files_, true)) {
          base::log(base::Level::warning, "cannot accept", {{"cause", strerror(accept_error)}});
        }
        make_room();
      }
      poll(nullptr, 0, kPauseMs);
      return true;
    }
    default: {
      const std::lock_guard lock(mutex_);
      failure_ = std::string("cannot accept: ") + strerror(accept_error);
      kill(getpid(), SIGTERM);
      return false;
    }
  }
}

std::string Crew::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// Whether the next request of the connection may be waited for; then the seat is idle.
bool Crew::Seat::may_wait(int connection) {
  const std::lock_guard lock(crew_.mutex_);
  if (crew_.finishing_ || (!is_new_ && (asked_to_yield_ || crew_.is_crowded()))) return false;
  state_ = State::idle;
  idle_since_ = base::now();
  connection_ = connection;
  return true;
}

ssize_t Crew::Seat::await_request(int connection, std::span<char> to) {
  if (!may_wait(connection)) {
    constexpr int kAtOnce = 0;
    pollfd interest{connection, POLLIN, 0};
    if (poll(&interest, 1, is_new_ ? kGraceMs : kAtOnce) <= 0) return 0;
    return recv(connection, to.data(), to.size(), MSG_PEEK | MSG_DONTWAIT);
  }
  ssize_t got = -1;
  if (is_new_) {
    got = await_first(connection, to);
  } else {
    do {
      got = recv(connection, to.data(), to.size(), MSG_PEEK);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  }
  const std::lock_guard lock(crew_.mutex_);
  state_ = State::busy;
  return got;
}

ssize_t Crew::Seat::await_first(int connection, std::span<char> to) {
  const base::Instant began = base::now();
  const Arrival nothing{began, began};
  for (;;) {
    const ssize_t got = recv(connection, to.data(), to.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    if (!await_bytes(connection, nothing)) return -1;
  }
}

ssize_t Crew::Seat::receive(int connection, std::span<char> to, Arrival& arrival) {
  for (;;) {
    const ssize_t got = recv(connection, to.data(), to.size(), MSG_DONTWAIT);
    if (got > 0) {
      arrival.bytes += static_cast<std::size_t>(got);
      arrival.last = base::now();
    }
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    if (await_bytes(connection, arrival)) continue;
    errno = EAGAIN;
    return -1;
  }
}

// False: no longer. It asks before each wait, so that bytes that drip in do not put off the question.
bool Crew::Seat::await_bytes(int connection, const Arrival& arrival) {
  for (;;) {
    const base::Instant now = base::now();
    if (is_too_slow(arrival, now, crew_.limits_.silence) || gives_way(arrival, now)) return false;
    const base::Seconds patience = std::min(kAskedAgain, crew_.limits_.silence);
    pollfd interest{connection, POLLIN, 0};
    if (poll(&interest, 1, static_cast<int>(std::ceil(patience.count() * 1e3))) != 0) return true;
  }
}

// As many give way as are needed, and not all that could.
bool Crew::Seat::gives_way(const Arrival& arrival, base::Instant now) {
  if (!may_be_displaced(arrival, now)) return false;
  const std::lock_guard lock(crew_.mutex_);
  if (!crew_.is_crowded() || crew_.giving_way_ > 0) return false;
  gives_way_ = true;
  ++crew_.giving_way_;
  if (!std::exchange(crew_.has_displaced_, true)) {
    base::log(base::Level::warning, "all connections are in use, slow requests give way, and will again in silence");
  }
  return true;
}

// Makes a thread that waits for a request see an end instead; what has come already is served.
// REQUIRES: the lock is held, the seat is idle.
void Crew::Seat::hang_up() const {
  char next = 0;
  if (recv(connection_, &next, 1, MSG_PEEK | MSG_DONTWAIT) < 0) shutdown(connection_, SHUT_RD);
}

void Crew::Seat::answered() {
  const std::lock_guard lock(crew_.mutex_);
  is_new_ = false;
}

bool Crew::finish(base::Seconds within) {
  using namespace std::chrono_literals;
  const base::Instant began = base::now(), deadline = began + within;
  std::unique_lock lock(mutex_);
  finishing_ = true;
  while (!seats_.empty() && base::now() < deadline) {
    // Again and again: a signal that arrives just before accept(2) is entered does not end it.
    const bool grace_is_over = base::now() - began > base::Seconds{kGraceMs * 1e-3};
    for (const Seat& seat : seats_) {
      if (seat.state_ == Seat::State::accepting) pthread_kill(seat.thread_, kWake);
      if (seat.state_ == Seat::State::idle && (!seat.is_new_ || grace_is_over)) seat.hang_up();
    }
    left_.wait_for(lock, 2ms);
  }
  return seats_.empty();
}

}  // namespace balance
