// SPDX-License-Identifier: MIT
// The threads that serve connections, as leader and followers (D. C. Schmidt et al., Pattern-Oriented Software
// Architecture 2, 2000): one thread, the leader, waits for whichever connection has a request and serves it itself, so
// that requests that never wait, redirects, are served one after the other without a thread being woken or put to
// sleep: half of what a thread for each connection costs. Before a request waits for anything its thread gives up the
// lead to the next. So there are as many threads as requests that wait, and one more.
// Nobody starves: at the limit of connections they are closed after their answer, and the one that has been idle for
// the longest is closed at once for another that knocks. A request that comes slowly gives way then too.
// Floor 3. One Crew a process; it must outlive its threads (see finish).
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "balance/front/arrival.h"
#include "balance/front/connections.h"
#include "loadprobe/base/time.h"

namespace balance {

class Crew {
 public:
  class Seat;
  // What becomes of a connection that was served.
  enum class Then : std::uint8_t {
    next,     // a request was answered; others may come
    nothing,  // nothing has come
    linger,   // it is over, but the web server may still send
    close,    // it is over
    closed,   // it is over, and its descriptor is closed already
  };
  // Serves the request that a connection has, to its end; it may find none there. Called by the crew's threads, several
  // at a time; must not throw, and must not wait for anything before seat.about_to_wait().
  using Serve = std::function<Then(int connection, Seat& seat)>;
  // Readies a connection that was just accepted; false: it is to be closed. One call at a time; as Serve otherwise.
  using Admit = std::function<bool(int connection)>;

  struct Limits {
    std::size_t most = 512;     // connections
    std::size_t spare = 16;     // threads that have nothing to do at the same time; more go home
    base::Seconds silence{30};  // of a connection within a request, or before its first
    // How many may lead at a time: more only where every request waits, so that no other thread needs to be woken.
    std::size_t leaders = 1;
  };

  // REQUIRES: the calling thread has blocked SIGTERM and waits for it: it comes, too, when the listening socket breaks
  // (failure() then tells).
  Crew(Connections connections, int listening, Limits limits, Admit admit, Serve serve);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // The first thread. The error says why the system gives none.
  base::Status start();

  // Accepts no more, closes idle connections, and waits for the busy ones. False if some were still busy after that
  // time: then only _exit(2) may follow, for their threads use this object.
  bool finish(base::Seconds within);

  // Why the crew can accept no more (the listening socket is broken), else "". Any thread.
  std::string failure();

  // Where a thread of the crew stands.
  class Seat {
   public:
    // From here on the request may wait: for bytes, for a host, for a disk. Others are served meanwhile. As often as
    // one likes.
    void about_to_wait();
    // The next bytes of a request that has begun, as recv(2) gives them; -1 with EAGAIN if it comes too slowly
    // (arrival.h) and is to be given up. Counts them in `arrival`.
    ssize_t receive(int connection, std::span<char> to, Arrival& arrival);

   private:
    friend class Crew;
    explicit Seat(Crew& crew) : crew_(crew) {}
    bool await_bytes(int connection, const Arrival& arrival);
    bool gives_way(const Arrival& arrival, base::Instant now);
    Crew& crew_;
    pthread_t thread_{};
    bool leads_ = false;
    bool waits_ = false;      // for an event, which kWake ends
    bool will_look_ = false;  // and ends by itself in time for what look_after() does
    bool gives_way_ = false;  // counted in Crew::giving_way_
  };

 private:
  using Id = Connections::Id;
  using Lock = std::unique_lock<std::mutex>;
  static void* run(void* seat);
  void work(Seat& seat);
  std::optional<Id> next(Seat& seat, Lock& lock);
  bool lead(Seat& seat, Lock& lock);
  void stop_leading(Seat& seat);
  void serve(Seat& seat, Id id, Lock& lock);
  bool settle(Id id, Then then);
  std::optional<Id> answer_knock();
  std::optional<Id> make_room();
  void survive(int accept_error);
  int look_after();
  void heed_knocks();
  void ignore_knocks();
  base::Status add_thread();
  void cover_lead();
  void wake_leaders();
  bool must_look() const;
  void cover_looks();
  bool is_crowded() const;

  const int listening_;
  const Limits limits_;
  const Admit admit_;
  const Serve serve_;
  sigset_t blocked_{};  // while a thread waits for an event
  std::mutex mutex_;    // guards everything below
  std::condition_variable lead_is_free_, left_;
  Connections connections_;
  std::list<Seat> seats_;
  std::size_t leading_ = 0, following_ = 0;
  std::size_t giving_way_ = 0;  // threads that have given up a slow request and will be free soon
  bool has_unheeded_ = false;   // somebody knocked while there was no room
  base::Instant next_look_{};   // for connections that are overdue
  bool finishing_ = false;
  bool short_of_threads_ = false;
  bool short_of_files_ = false;
  base::Instant told_of_files_ = base::kNever;
  bool has_displaced_ = false;
  std::string failure_;
};

}  // namespace balance
