// SPDX-License-Identifier: MIT
// The connections of the web server that are open. Those that nobody serves wait in an epoll(7) set, so one that says
// nothing holds no thread.
// Floor 3. wait() may be called by several threads at a time; a lock of the caller's guards everything else.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "loadprobe/base/fd.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

class Connections {
 public:
  using Id = std::uint64_t;  // never used again for another one

  // `listening` stays the caller's, is heeded from the start, and becomes non-blocking.
  static base::Result<Connections> at(int listening);

  struct Event {
    enum class What : std::uint8_t { nothing, knock, connection } what = What::nothing;
    Id id = 0;  // of the connection that has something to say
  };
  // The next event; nothing after so many milliseconds (below 0: never) or at a signal. `blocked` are the signals that
  // do not end it. What it tells may be old news when the caller has its lock: take() knows.
  Event wait(int milliseconds, const sigset_t& blocked) const;

  // Whether knocks at the listening socket are events.
  void heed_listener();
  void ignore_listener();

  struct Connection {
    base::Fd socket;
    enum class State : std::uint8_t { served, waiting, lingering } state = State::served;
    bool is_new = true;     // it has had no request yet
    bool is_last = false;   // it is to be closed after what has come
    bool is_known = false;  // to epoll
    base::Instant since{};  // it was accepted, or began to wait or to linger
  };

  // A new one, served by the caller.
  Id add(base::Fd socket, base::Instant now);
  // REQUIRES: it is served, by the caller.
  Connection& operator[](Id id) { return connections_.at(id); }
  // The caller serves it from now on. Null: it is gone, or not waiting; one that lingers is looked after here.
  Connection* take(Id id);
  // Nobody serves it any more: it waits for its next request...
  void put_back(Id id, base::Instant now);
  // ...or, since it is over, for the web server to close it too, so that bytes that it still sends do not cost it what
  // it has not read yet. At most kLinger.
  void linger(Id id, base::Instant now);
  void drop(Id id);    // closes it
  void forget(Id id);  // somebody else has closed it

  // Of those that nobody serves: the one to close if one must be. New ones come last, and not before they had kGrace.
  std::optional<Id> longest_idle(base::Instant now) const;
  // Ends one that nobody serves, or the caller. False: something has come before its end; it is to be served once more,
  // and is marked as last.
  bool dismiss(Id id);
  // Closes what has lingered for kLinger, and what is new and has said nothing for `silence`.
  void drop_overdue(base::Instant now, base::Seconds silence);
  // Closes all that nobody serves and that have nothing to say; new ones, which are about to, only if included.
  enum class New : std::uint8_t { spared, included };
  void dismiss_all(New which);

  std::size_t count() const { return connections_.size(); }
  std::size_t idle() const { return idle_; }         // waiting or lingering
  bool has_limited() const { return limited_ > 0; }  // some of these may become overdue

 private:
  Connections(base::Fd epoll, int listening) : epoll_(std::move(epoll)), listening_(listening) {}
  void set_listener(std::uint32_t events);
  void park(Id id, Connection& connection, Connection::State state, base::Instant now);
  void arm(Id id, Connection& connection);
  void unpark(Connection& connection);
  static bool is_limited(const Connection& connection);

  base::Fd epoll_;
  int listening_;
  std::unordered_map<Id, Connection> connections_;
  Id last_id_ = 0;
  std::size_t idle_ = 0, limited_ = 0;
};

inline constexpr base::Seconds kLinger{2};   // as libfcgi has it
inline constexpr base::Seconds kGrace{0.1};  // a new connection is about to bring the request that it was opened for

}  // namespace balance
