// SPDX-License-Identifier: MIT
#include "balance/front/crew.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "loadprobe/base/clock.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/log.h"

namespace balance {
namespace {

// Interrupts a thread of ours that waits for an event. Blocked in all of them except then, so it never cuts a request.
constexpr int kWake = SIGUSR2;
constexpr std::size_t kStackBytes = std::size_t{256} * 1024;
// Accepting has just failed for want of something that others may give back.
constexpr base::Seconds kPause{0.05};
// An error log must not fill with what happens at every other connection.
constexpr base::Seconds kToldAgain{60};

void do_nothing(int) {}

void install_wake() {
  struct sigaction action {};
  action.sa_handler = do_nothing;  // and no SA_RESTART: the wait is to end
  sigaction(kWake, &action, nullptr);
}

sigset_t only_wake() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kWake);
  return set;
}

}  // namespace

Crew::Crew(Connections connections, int listening, Limits limits, Admit admit, Serve serve)
    : listening_(listening),
      limits_(limits),
      admit_(std::move(admit)),
      serve_(std::move(serve)),
      connections_(std::move(connections)) {
  install_wake();
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked_);
  sigdelset(&blocked_, kWake);
}

base::Status Crew::start() {
  const Lock lock(mutex_);
  return add_thread();
}

// All private functions but run() and work() REQUIRE that the lock is held.

base::Status Crew::add_thread() {
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
  Lock lock(mutex_);
  while (const std::optional<Id> id = next(seat, lock)) serve(seat, *id, lock);
  seats_.remove_if([&seat](const Seat& other) { return &other == &seat; });
  left_.notify_all();
}

// The next connection to be served by this thread, which leads then; nothing: the thread is to go home.
std::optional<Crew::Id> Crew::next(Seat& seat, Lock& lock) {
  while (lead(seat, lock)) {
    if (finishing_ && connections_.idle() == 0) {
      stop_leading(seat);
      break;
    }
    const int patience = look_after();
    seat.waits_ = true;
    seat.will_look_ = patience >= 0;
    lock.unlock();
    const Connections::Event event = connections_.wait(patience, blocked_);
    lock.lock();
    seat.waits_ = false;
    if (event.what == Connections::Event::What::connection && connections_.take(event.id) != nullptr) return event.id;
    if (event.what != Connections::Event::What::knock) continue;
    if (const std::optional<Id> id = answer_knock()) return id;
  }
  return std::nullopt;
}

// Whether this thread leads, after it followed for as long as there was another one.
bool Crew::lead(Seat& seat, Lock& lock) {
  if (seat.leads_) return true;
  if (leading_ >= limits_.leaders && leading_ + following_ >= limits_.spare) return false;
  while (leading_ >= limits_.leaders) {
    if (finishing_) return false;
    ++following_;
    lead_is_free_.wait(lock);
    --following_;
  }
  seat.leads_ = true;
  ++leading_;
  return true;
}

void Crew::stop_leading(Seat& seat) {
  seat.leads_ = false;
  --leading_;
}

// Sees to it that somebody leads.
void Crew::cover_lead() {
  if (leading_ > 0) return;
  if (following_ > 0) {
    lead_is_free_.notify_one();
  } else if (const base::Status added = add_thread(); !added && !std::exchange(short_of_threads_, true)) {
    base::log(base::Level::warning, "cannot grow", {{"cause", added.error().what}});
  }
}

// How long the leader may wait, in milliseconds: until something has to be looked after again. -1: for ever.
int Crew::look_after() {
  if (finishing_) return base::milliseconds(kPause);  // finish() wakes us earlier
  if (!must_look()) return -1;
  const base::Instant now = base::now();
  if (now >= next_look_) {
    connections_.drop_overdue(now, limits_.silence);
    if (has_unheeded_) heed_knocks();
    next_look_ = now + (has_unheeded_ ? kPause : std::min(kAskedAgain, limits_.silence));
  }
  return base::milliseconds(next_look_ - now);
}

// Where all connections are busy, whoever finishes first heeds the knocks.
bool Crew::must_look() const {
  return connections_.has_limited() || (has_unheeded_ && (short_of_files_ || connections_.idle() > 0));
}

// Who waits without an end must learn that there is something to look after; one of them does.
void Crew::cover_looks() {
  if (!must_look()) return;
  Seat* found = nullptr;
  for (Seat& seat : seats_) {
    if (!seat.waits_) continue;
    if (seat.will_look_) return;
    found = &seat;
  }
  if (found == nullptr) return;
  found->will_look_ = true;
  pthread_kill(found->thread_, kWake);
}

void Crew::heed_knocks() {
  has_unheeded_ = false;
  if (!finishing_ && failure_.empty()) connections_.heed_listener();
}

void Crew::ignore_knocks() {
  has_unheeded_ = true;
  next_look_ = base::now() + kPause;
  connections_.ignore_listener();
}

// A connection to be served: a new one, or an old one that has to make room for it first.
std::optional<Crew::Id> Crew::answer_knock() {
  if (finishing_ || !failure_.empty()) {
    connections_.ignore_listener();
    return std::nullopt;
  }
  if (connections_.count() >= limits_.most) return make_room();
  base::Fd socket(accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) {
    survive(errno);
    return std::nullopt;
  }
  short_of_files_ = false;
  if (!admit_(socket.get())) return std::nullopt;
  return connections_.add(std::move(socket), base::now());
}

std::optional<Crew::Id> Crew::make_room() {
  const std::optional<Id> longest = connections_.longest_idle(base::now());
  if (!longest) {
    ignore_knocks();  // who finishes first makes room
    return std::nullopt;
  }
  if (connections_.dismiss(*longest)) return std::nullopt;
  connections_.take(*longest);
  return longest;
}

// A follower that was told to lead, and has not woken yet, is no lack of threads.
bool Crew::is_crowded() const { return has_unheeded_ || (leading_ == 0 && following_ == 0 && short_of_threads_); }

void Crew::survive(int accept_error) {
  switch (accept_error) {
    case EAGAIN:  // somebody who shares the socket was faster
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
      return;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      // A connection waits, and accepting would fail again at once; meanwhile others may end.
      short_of_files_ = true;
      if (const base::Instant now = base::now(); now - told_of_files_ > kToldAgain) {
        told_of_files_ = now;
        base::log(base::Level::warning, "cannot accept", {{"cause", strerror(accept_error)}});
      }
      if (const std::optional<Id> longest = connections_.longest_idle(base::now()))
        (void)connections_.dismiss(*longest);
      ignore_knocks();
      return;
    default:
      failure_ = std::string("cannot accept: ") + strerror(accept_error);
      connections_.ignore_listener();
      kill(getpid(), SIGTERM);
  }
}

void Crew::wake_leaders() {
  for (const Seat& seat : seats_) {
    if (seat.waits_) pthread_kill(seat.thread_, kWake);
  }
}

std::string Crew::failure() {
  const Lock lock(mutex_);
  return failure_;
}

void Crew::serve(Seat& seat, Id id, Lock& lock) {
  const int socket = connections_[id].socket.get();
  for (bool again = true; again;) {
    lock.unlock();
    const Then then = serve_(socket, seat);
    lock.lock();
    if (std::exchange(seat.gives_way_, false)) --giving_way_;
    again = settle(id, then);
  }
  if (!seat.leads_) cover_looks();
}

// True: the connection has to be served once more, for the last time.
bool Crew::settle(Id id, Then then) {
  Connections::Connection& connection = connections_[id];
  if (then == Then::next) connection.is_new = false;
  const bool must_end = connection.is_last || (!connection.is_new && (finishing_ || is_crowded()));
  switch (then) {
    case Then::next:
    case Then::nothing:
      if (!must_end) {
        connections_.put_back(id, base::now());
        return false;
      }
      if (connection.is_last) {
        connections_.drop(id);
      } else if (!connections_.dismiss(id)) {
        return true;
      }
      break;
    case Then::linger:
      connections_.linger(id, base::now());
      break;
    case Then::close:
      connections_.drop(id);
      break;
    case Then::closed:
      connections_.forget(id);
      break;
  }
  if (has_unheeded_) heed_knocks();
  return false;
}

bool Crew::finish(base::Seconds within) {
  using namespace std::chrono_literals;
  const base::Instant began = base::now(), deadline = began + within;
  Lock lock(mutex_);
  finishing_ = true;
  connections_.ignore_listener();
  lead_is_free_.notify_all();
  while (!seats_.empty() && base::now() < deadline) {
    const bool grace_is_over = base::now() - began > kGrace;
    connections_.dismiss_all(grace_is_over ? Connections::New::included : Connections::New::spared);
    wake_leaders();
    left_.wait_for(lock, 2ms);
  }
  return seats_.empty();
}

}  // namespace balance
