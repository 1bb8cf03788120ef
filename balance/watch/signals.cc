// SPDX-License-Identifier: MIT
// See signals.h.
#include "balance/watch/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace balance {

base::Result<Signals> Signals::create() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return base::system_error("cannot block signals");
  std::signal(SIGPIPE, SIG_IGN);
  base::Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return base::system_error("cannot wait for signals");
  return Signals(std::move(fd));
}

Signals::Come Signals::take() {
  Come come;
  signalfd_siginfo signal{};
  while (::read(fd_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    if (signal.ssi_signo == SIGHUP) {
      come.reload = true;
    } else {
      come.leave = true;
    }
  }
  return come;
}

}  // namespace balance
