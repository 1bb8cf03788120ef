// SPDX-License-Identifier: MIT
// What a thread of a crew does while it serves a request.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "balance/front/crew.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/log.h"

namespace balance {

void Crew::Seat::about_to_wait() {
  if (!leads_) return;
  const Lock lock(crew_.mutex_);
  crew_.stop_leading(*this);
  crew_.cover_lead();
  crew_.cover_looks();  // others may lead and wait without an end
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
  about_to_wait();
  for (;;) {
    const base::Instant now = base::now();
    if (is_too_slow(arrival, now, crew_.limits_.silence) || gives_way(arrival, now)) return false;
    pollfd interest{connection, POLLIN, 0};
    if (poll(&interest, 1, base::milliseconds(std::min(kAskedAgain, crew_.limits_.silence))) != 0) return true;
  }
}

// As many give way as are needed, and not all that could.
bool Crew::Seat::gives_way(const Arrival& arrival, base::Instant now) {
  if (!may_be_displaced(arrival, now)) return false;
  const Lock lock(crew_.mutex_);
  if (!crew_.is_crowded() || crew_.giving_way_ > 0) return false;
  gives_way_ = true;
  ++crew_.giving_way_;
  if (!std::exchange(crew_.has_displaced_, true)) {
    base::log(base::Level::warning, "all connections are in use, slow requests give way, and will again in silence");
  }
  return true;
}

}  // namespace balance
