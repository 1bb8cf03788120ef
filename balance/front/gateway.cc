// SPDX-License-Identifier: MIT
// Connections are accepted here, not in libfcgi: its OS_Accept holds a thread for two seconds for each idle connection
// on a UNIX socket, calls select(2), which cannot take descriptors above 1023, and does not tell whether a thread waits
// for a connection or for the next request of a kept one, which is what the crew grows by. And what a connection brings
// is screened before libfcgi reads it.
// This takes two fields of FCGX_Request that fcgiapp.h would rather keep to itself (ipcFd, keepConnection): with
// them set FCGX_Accept_r reads a request from our connection as from a kept one of its own, and
// without a listening socket it returns once that has ended.
#include "balance/front/gateway.h"

#include <arpa/inet.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/front/crew.h"
#include "balance/front/screen.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/log.h"
#include "loadprobe/base/text.h"

// libfcgi's side for web servers (OS_FcgiConnect) looks up names and is linked with the rest. We never call it; this
// keeps the C library's name service, which cannot be linked statically, out of the program.
extern "C" hostent* gethostbyname(const char*) { return nullptr; }

namespace balance {
namespace {

constexpr int kNoListener = -1;
constexpr std::size_t kUsualHeadBytes = 4096;
constexpr std::size_t kMostHeadBytes = 128 * 1024;  // nginx itself refuses above 64 KB

timeval to_timeval(base::Seconds duration) {
  const double whole = std::floor(duration.count());
  return {static_cast<time_t>(whole), static_cast<suseconds_t>((duration.count() - whole) * 1e6)};
}

void bound_waits(int connection, base::Seconds timeout) {
  const timeval limit = to_timeval(timeout);
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  // Fails on a UNIX socket, which has neither delay nor window.
  if (setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) return;
  constexpr int kWindowBytes = 2 * static_cast<int>(kMostHeadBytes);  // the head stays unread until it is whole
  setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &kWindowBytes, sizeof kWindowBytes);
}

// Looks at what has come, without taking it, until the head of a request is whole. Nothing if there will be none: the
// connection ended or is to be closed.
std::optional<Screened> await_head(int connection, Crew::Seat& seat, base::Seconds timeout) {
  std::string head(kUsualHeadBytes, '\0');
  base::Instant deadline = base::kNever;
  for (;;) {
    const ssize_t got = recv(connection, head.data(), head.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return std::nullopt;
    if (got < 0) {
      if (!seat.await_request()) return std::nullopt;
      continue;
    }
    const Screened screened = screen({head.data(), static_cast<std::size_t>(got)});
    if (screened != Screened::incomplete) return screened;
    if (static_cast<std::size_t>(got) == head.size()) {
      if (head.size() >= kMostHeadBytes) return Screened::refused;
      head.resize(head.size() * 2);
      continue;
    }
    if (seat.has_ended()) return std::nullopt;
    if (deadline == base::kNever) deadline = base::now() + timeout;
    if (!seat.await_rest(deadline)) return std::nullopt;
  }
}

// The address of the other side; nothing on a UNIX socket.
std::optional<base::Address> peer_of(int connection) {
  union {
    sockaddr any;
    sockaddr_in in;
    sockaddr_in6 in6;
  } peer{};
  socklen_t bytes = sizeof peer;
  if (getpeername(connection, &peer.any, &bytes) != 0) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const address = peer.any.sa_family == AF_INET ? static_cast<const void*>(&peer.in.sin_addr)
                                                            : static_cast<const void*>(&peer.in6.sin6_addr);
  if (inet_ntop(peer.any.sa_family, address, text.data(), text.size()) == nullptr) return std::nullopt;
  return base::parse_address(text.data());
}

void take_empty_body(FCGX_Stream* in) {
  char none = 0;
  FCGX_GetStr(&none, 1, in);  // its last record, which would be in the way of the next request
}

bool may_connect(int connection, const std::vector<base::Address>& web_servers) {
  if (web_servers.empty()) return true;
  const std::optional<base::Address> peer = peer_of(connection);
  return !peer || std::ranges::find(web_servers, *peer) != web_servers.end();
}

// The requests of one connection, one after another, until it ends.
void serve_connection(base::Fd connection, Crew::Seat& seat, const FastCgi& how, const Respond& respond,
                      std::atomic<bool>& refused_before) {
  if (!may_connect(connection.get(), how.web_servers)) return;
  bound_waits(connection.get(), how.request_timeout);
  FCGX_Request request;
  FCGX_InitRequest(&request, kNoListener, FCGI_FAIL_ACCEPT_ON_INTR);
  while (const std::optional<Screened> head = await_head(connection.get(), seat, how.request_timeout)) {
    if (*head == Screened::refused) {
      if (!refused_before.exchange(true)) {
        base::log(base::Level::warning,
                  "refused what is no FastCGI request of a web server, and will again in silence");
      }
      return;
    }
    request.ipcFd = connection.release();
    request.keepConnection = 1;  // else FCGX_Accept_r begins with closing it; the request itself tells anew
    if (FCGX_Accept_r(&request) != 0) return;  // and libfcgi closed it
    const std::string answer = respond(request.envp);
    FCGX_PutStr(answer.data(), static_cast<int>(answer.size()), request.out);
    if (*head == Screened::with_body) {
      request.keepConnection = 0;  // the body was not looked at, so nothing that follows can be either
    } else {
      take_empty_body(request.in);
    }
    FCGX_Finish_r(&request);  // and closes, unless the connection is kept; then waits for the other side to close too
    seat.answered();
    if (request.ipcFd < 0) return;
    connection = base::Fd(std::exchange(request.ipcFd, kNoListener));
  }
}

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

void make_blocking(int listening) {
  const int flags = fcntl(listening, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) != 0) fcntl(listening, F_SETFL, flags & ~O_NONBLOCK);
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
  make_blocking(how.listening);
  if (FCGX_Init() != 0) return base::Error{base::Fault::io, "libfcgi cannot start"};
  std::atomic<bool> refused_before{false};
  Crew crew(how.listening, Crew::Limits{how.most_connections, Crew::Limits{}.spare, how.request_timeout},
            [&](base::Fd connection, Crew::Seat& seat) {
              serve_connection(std::move(connection), seat, how, respond, refused_before);
            });
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
