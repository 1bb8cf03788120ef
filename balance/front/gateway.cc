// SPDX-License-Identifier: MIT
// Connections are accepted and waited for here, not in libfcgi: it serves a connection by a thread until that ends,
// holds a thread for two seconds for each idle connection on a UNIX socket, and calls select(2), which cannot take
// descriptors above 1023.
#include "balance/front/gateway.h"

#include <fcgiapp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/front/connection.h"
#include "balance/front/crew.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/log.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) sigaddset(&set, signal);
  return set;
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

bool is_fastcgi() {
  const bool answer = FCGX_IsCGI() == 0;
  // libfcgi's handlers only set a flag that we do not look at: a CGI program that ignores SIGTERM would be the result.
  signal(SIGTERM, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
  return answer;
}

base::Result<std::vector<base::Address>> web_servers_of(const char* list) {
  std::vector<base::Address> found;
  if (list == nullptr || base::trim(list).empty()) return found;
  for (const std::string_view text : base::split(list, ',')) {
    const std::optional<base::Address> address = base::parse_address(base::trim(text));
    if (!address) {
      return base::Error{base::Fault::usage, "FCGI_WEB_SERVER_ADDRS: '" + base::escaped(text) +
                                                 "' is no address; wanted IP addresses with commas between"};
    }
    found.push_back(*address);
  }
  return found;
}

void hold_signals() {
  const sigset_t signals = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

base::Status serve_fastcgi(const FastCgi& how, const Respond& respond) {
  hold_signals();
  const sigset_t signals = awaited_signals();
  signal(SIGPIPE, SIG_IGN);
  raise_file_limit();
  if (FCGX_Init() != 0) return base::Error{base::Fault::io, "libfcgi cannot start"};
  std::atomic<bool> refused_before{false};
  base::Result<Connections> connections = Connections::at(how.listening);
  if (!connections) return connections.error();
  Crew::Limits limits;
  limits.most = how.most_connections;
  limits.silence = how.request_timeout;
  if (how.all_wait) limits.leaders = limits.spare;
  Crew crew(
      *std::move(connections), how.listening, limits, [&how](int connection) { return admit(connection, how); },
      [&](int connection, Crew::Seat& seat) { return serve_request(connection, seat, respond, refused_before); });
  if (base::Status started = crew.start(); !started) return started;
  int signal = 0;
  while (sigwait(&signals, &signal) == 0 && signal == SIGHUP) how.look_again();
  const std::string failure = crew.failure();
  if (!crew.finish(how.finish_within)) {
    base::log(base::Level::warning, "requests cut off", {{"cause", "still busy when the time to finish was over"}});
    _exit(failure.empty() ? 0 : 1);
  }
  if (!failure.empty()) return base::Error{base::Fault::io, failure};
  return base::ok();
}

}  // namespace balance
