// SPDX-License-Identifier: MIT
// The threads that serve connections. A thread serves one connection until that ends, and a web server may keep
// connections open without using them; so there is always one more thread than there are connections, waiting for the
// next one, up to a limit. Nobody starves: at the limit connections are closed after their answer, and the one that has
// been idle for the longest is closed at once, which makes a thread free for those in the listen queue. A request that
// comes slowly gives way then too.
// Floor 3. One Crew a process; it must outlive its threads (see finish).
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <string>

#include "balance/front/arrival.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/time.h"

namespace balance {

class Crew {
 public:
  class Seat;
  // Serves one connection to its end. Called by the crew's threads, several at a time; must not throw.
  using Serve = std::function<void(base::Fd connection, Seat& seat)>;

  struct Limits {
    std::size_t most = 512;     // threads, and so connections
    std::size_t spare = 16;     // threads that wait for a connection at the same time; more go home
    base::Seconds silence{30};  // of a connection within a request, or before its first
  };

  // `listening` stays the caller's. REQUIRES: the calling thread has blocked SIGTERM and waits for it: it comes, too,
  // when the listening socket breaks (failure() then tells).
  Crew(int listening, Limits limits, Serve serve);
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
    // Waits for the next request and looks at its first bytes, which stay on the connection: how many there are. Not
    // above 0: the connection is to be closed instead. The other side closed it, the crew finishes, no thread is left
    // for others, or a new connection sent nothing for Limits::silence.
    ssize_t await_request(int connection, std::span<char> to);
    // The next bytes of a request that has begun, as recv(2) gives them; -1 with EAGAIN if it comes too slowly
    // (arrival.h) and is to be given up. Counts them in `arrival`.
    ssize_t receive(int connection, std::span<char> to, Arrival& arrival);
    // A request of this connection has been answered: from now on it may be closed while it is idle.
    void answered();

   private:
    friend class Crew;
    enum class State { accepting, idle, busy };
    explicit Seat(Crew& crew) : crew_(crew) {}
    bool may_wait(int connection);
    ssize_t await_first(int connection, std::span<char> to);
    bool await_bytes(int connection, const Arrival& arrival);
    bool gives_way(const Arrival& arrival, base::Instant now);
    void hang_up() const;
    Crew& crew_;
    pthread_t thread_{};
    int connection_ = -1;  // open while the state is idle
    State state_ = State::busy;
    bool asked_to_yield_ = false;
    bool gives_way_ = false;  // counted in Crew::giving_way_
    bool is_new_ = true;      // the connection has had no request yet: it is not closed for another one
    base::Instant idle_since_{};
  };

 private:
  static void* run(void* seat);
  void work(Seat& seat);
  bool begin_accepting(Seat& seat);
  int accept_one();
  void end_accepting(Seat& seat, int connection);
  bool survives(int accept_error);
  base::Status add_thread(std::unique_lock<std::mutex>& lock);
  void make_room();
  bool is_crowded() const;

  const int listening_;
  const Limits limits_;
  const Serve serve_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable left_;
  std::list<Seat> seats_;
  std::size_t accepting_ = 0;
  std::size_t giving_way_ = 0;  // threads that have given up a slow request and will accept soon
  bool finishing_ = false;
  bool short_of_threads_ = false;
  bool short_of_files_ = false;
  bool has_displaced_ = false;
  std::string failure_;
};

}  // namespace balance
