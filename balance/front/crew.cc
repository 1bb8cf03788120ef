// SPDX-License-Identifier: MIT
#include "balance/front/crew.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
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

// Interrupts a thread of ours that waits. Blocked in all of them except while they wait, so it never cuts a request.
constexpr int kWake = SIGUSR2;
constexpr std::size_t kStackBytes = 256 * 1024;

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

int to_ms(base::Seconds duration) { return static_cast<int>(std::ceil(duration.count() * 1e3)); }

}  // namespace

Crew::Crew(int listening, Limits limits, Serve serve)
    : listening_(listening), limits_(limits), serve_(std::move(serve)) {
  install_wake();
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_while_waiting_);
  sigdelset(&mask_while_waiting_, kWake);
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
      seat.watch(connection);
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
  pthread_kill(longest->thread_, kWake);
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

void Crew::Seat::watch(int connection) {
  has_ended_ = false;
  if (!arrivals_) arrivals_ = base::Fd(epoll_create1(EPOLL_CLOEXEC));
  epoll_event interest{};
  interest.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  // Without it no byte is ever seen to arrive and the connection is closed in time: the system has no memory left.
  epoll_ctl(arrivals_.get(), EPOLL_CTL_ADD, connection, &interest);
}

bool Crew::Seat::await_request() {
  // A new connection has brought, or is about to bring, the request that it was opened for.
  constexpr int kGraceMs = 100, kAtOnce = 0, kForEver = -1;
  int patience = is_new_ ? to_ms(crew_.limits_.first_request) : kForEver;
  {
    const std::lock_guard lock(crew_.mutex_);
    if (crew_.finishing_) {
      patience = is_new_ ? kGraceMs : kAtOnce;
    } else if (!is_new_ && (asked_to_yield_ || crew_.is_crowded())) {
      patience = kAtOnce;
    } else {
      state_ = State::idle;
      idle_since_ = base::now();
    }
  }
  bool came = await_bytes(patience, &crew_.mask_while_waiting_);
  if (!came && is_new_ && patience > kGraceMs) came = await_bytes(kGraceMs, nullptr);  // woken to finish
  const std::lock_guard lock(crew_.mutex_);
  state_ = State::busy;
  return came;
}

bool Crew::Seat::await_rest(base::Instant deadline) {
  return await_bytes(to_ms(std::max(deadline - base::now(), base::Seconds{0})), nullptr);
}

bool Crew::Seat::await_bytes(int patience_ms, const sigset_t* mask) {
  epoll_event event{};
  if (epoll_pwait(arrivals_.get(), &event, 1, patience_ms, mask) <= 0) return false;
  if ((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) has_ended_ = true;
  return true;
}

void Crew::Seat::answered() {
  const std::lock_guard lock(crew_.mutex_);
  is_new_ = false;
}

bool Crew::finish(base::Seconds within) {
  using namespace std::chrono_literals;
  const base::Instant deadline = base::now() + within;
  std::unique_lock lock(mutex_);
  finishing_ = true;
  while (!seats_.empty() && base::now() < deadline) {
    // Again and again: a signal that arrives just before accept(2) is entered does not end it.
    for (Seat& seat : seats_) {
      if (seat.state_ != Seat::State::busy) pthread_kill(seat.thread_, kWake);
    }
    left_.wait_for(lock, 2ms);
  }
  return seats_.empty();
}

}  // namespace balance
