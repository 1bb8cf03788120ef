// SPDX-License-Identifier: MIT
// See tcp_checks.h.
#include "balance/watch/tcp_checks.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "balance/watch/sockets.h"
#include "loadprobe/base/text.h"

namespace balance {

void TcpChecks::note(Check& check, int error) {
  ProbeFailure failure = connect_failure(error);
  // One address that refuses tells more than another that has no route.
  if (!check.failed || failure.failure != Failure::timeout) check.failure = std::move(failure);
  check.failed = true;
}

void TcpChecks::end(const Check& check, ProbeFailure failure) {
  ended_.push_back({check.host, Outcome::Of::web, std::move(failure)});
}

void TcpChecks::start(const Target& target) {
  Check check{target.host, target.timeout, target.deadline, {}, {}, false};
  for (const base::Address& address : target.addresses) {
    Connecting connecting = start_connect(Transport::tcp, address, target.port);
    if (connecting.error == 0) {
      ended_.push_back({target.host, Outcome::Of::web, WebAnswer{}});
      return;
    }
    if (connecting.socket) {
      check.attempts.push_back(std::move(connecting.socket));
    } else {
      note(check, connecting.error);
    }
  }
  if (check.attempts.empty()) return end(check, check.failure);
  checks_.push_back(std::move(check));
}

void TcpChecks::add_polls(std::vector<pollfd>& polls) const {
  for (const Check& check : checks_) {
    for (const base::Fd& attempt : check.attempts) polls.push_back({attempt.get(), POLLOUT, 0});
  }
}

void TcpChecks::advance(const std::vector<pollfd>& polls, std::size_t first, base::Instant now) {
  std::size_t next = first;
  std::vector<Check> left;
  for (Check& check : checks_) {
    bool answered = false;
    std::vector<base::Fd> waiting;
    for (base::Fd& attempt : check.attempts) {
      // The list may have been made before this check began: then there is nothing to read yet.
      const bool ready = next < polls.size() && polls[next].fd == attempt.get() && polls[next].revents != 0;
      ++next;
      int error = 0;
      socklen_t size = sizeof error;
      if (!ready) {
        waiting.push_back(std::move(attempt));
      } else if (::getsockopt(attempt.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
        answered = true;
      } else {
        note(check, error);
      }
    }
    check.attempts = std::move(waiting);
    if (answered) {
      ended_.push_back({check.host, Outcome::Of::web, WebAnswer{}});
    } else if (check.attempts.empty()) {
      end(check, check.failure);
    } else if (now >= check.deadline) {
      end(check, {Failure::timeout, "no connection within " + base::to_text(check.timeout)});
    } else {
      left.push_back(std::move(check));
    }
  }
  checks_ = std::move(left);
}

base::Instant TcpChecks::next_deadline() const {
  base::Instant next = base::Instant::max();
  for (const Check& check : checks_) next = std::min(next, check.deadline);
  return next;
}

std::vector<Outcome> TcpChecks::take() { return std::exchange(ended_, {}); }

}  // namespace balance
