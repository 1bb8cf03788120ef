// SPDX-License-Identifier: MIT
// Connections are accepted here, not in libfcgi: its OS_Accept holds a thread for two seconds for each idle connection
// on a UNIX socket, calls select(2), which cannot take descriptors above 1023, and does not tell whether a thread waits
// for a connection or for the next request of a kept one, which is what the crew grows by. A FCGX_Request with ipcFd
// set is read by FCGX_Accept_r as a kept connection is; without a listening socket it returns once that has ended.
#include "balance/front/gateway.h"

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

#include <array>
#include <cerrno>
#include <cmath>
#include <string>
#include <utility>

#include "balance/front/crew.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/log.h"

// libfcgi's side for web servers (OS_FcgiConnect) looks up names and is linked with the rest. We never call it; this
// keeps the C library's name service, which cannot be linked statically, out of the program.
extern "C" hostent* gethostbyname(const char*) { return nullptr; }

namespace balance {
namespace {

constexpr int kNoListener = -1;
constexpr std::size_t kMostBodyBytes = std::size_t{64} << 20;

timeval to_timeval(base::Seconds duration) {
  const double whole = std::floor(duration.count());
  return {static_cast<time_t>(whole), static_cast<suseconds_t>((duration.count() - whole) * 1e6)};
}

void bound_waits(int connection, base::Seconds timeout) {
  const timeval limit = to_timeval(timeout);
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on a UNIX socket, which has no delay
}

// Reads the body and forgets it: what is left of a request would be taken for the next one on a kept connection.
// False if it is too long for that.
bool discard_body(FCGX_Stream* in) {
  std::array<char, 16384> piece;
  for (std::size_t bytes = 0; bytes < kMostBodyBytes; bytes += piece.size()) {
    if (FCGX_GetStr(piece.data(), static_cast<int>(piece.size()), in) < static_cast<int>(piece.size())) return true;
  }
  return false;
}

// The requests of one connection, one after another, until it ends.
void serve_connection(base::Fd connection, Crew::Seat& seat, base::Seconds timeout, const Respond& respond) {
  bound_waits(connection.get(), timeout);
  FCGX_Request request;
  FCGX_InitRequest(&request, kNoListener, FCGI_FAIL_ACCEPT_ON_INTR);
  while (seat.await_request(connection.get())) {
    request.ipcFd = connection.release();
    request.keepConnection = 1;  // else FCGX_Accept_r begins with closing it; the request itself tells anew
    if (FCGX_Accept_r(&request) != 0) return;  // the connection ended or was no FastCGI; libfcgi closed it
    const std::string answer = respond(request.envp);
    const bool may_be_kept = discard_body(request.in);
    FCGX_PutStr(answer.data(), static_cast<int>(answer.size()), request.out);
    FCGX_Finish_r(&request);  // and closes, unless the connection is kept
    if (request.ipcFd < 0) return;
    connection = base::Fd(std::exchange(request.ipcFd, kNoListener));
    if (!may_be_kept) return;
  }
}

sigset_t stopping_signals() {
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

base::Status answer_cgi(const std::string& answer) {
  std::size_t written = 0;
  while (written < answer.size()) {
    const ssize_t bytes = write(STDOUT_FILENO, answer.data() + written, answer.size() - written);
    if (bytes < 0 && errno != EINTR) return base::system_error("cannot write the answer");
    if (bytes > 0) written += static_cast<std::size_t>(bytes);
  }
  return base::ok();
}

base::Status serve_fastcgi(const FastCgi& how, const Respond& respond) {
  const sigset_t signals = stopping_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  raise_file_limit();
  make_blocking(how.listening);
  if (FCGX_Init() != 0) return base::Error{base::Fault::io, "libfcgi cannot start"};
  Crew crew(how.listening, Crew::Limits{how.most_connections, Crew::Limits{}.spare, how.request_timeout},
            [&](base::Fd connection, Crew::Seat& seat) {
              serve_connection(std::move(connection), seat, how.request_timeout, respond);
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
