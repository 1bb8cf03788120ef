// SPDX-License-Identifier: MIT
// What a connection brings is screened before libfcgi reads it, and bodies are never read by it (body_records.h).
// This takes two fields of FCGX_Request that fcgiapp.h would rather keep to itself (ipcFd, keepConnection): with
// them set FCGX_Accept_r reads a request from our connection as from a kept one of its own, and
// without a listening socket it returns once that has ended.
#include "balance/front/connection.h"

#include <arpa/inet.h>
#include <fcgiapp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/front/body_records.h"
#include "balance/front/head.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/log.h"

namespace balance {
namespace {

constexpr int kNoListener = -1;
constexpr char kStdout = 6;  // type of a record
constexpr std::size_t kLongPieceBytes = 4096;

timeval to_timeval(base::Seconds duration) {
  const double whole = std::floor(duration.count());
  return {static_cast<time_t>(whole), static_cast<suseconds_t>((duration.count() - whole) * 1e6)};
}

void bound_waits(int connection, base::Seconds timeout) {
  const timeval limit = to_timeval(timeout);
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  // Fails on a UNIX socket, which has no delay.
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

using HeaderView = std::span<const char, BodyRecords::kHeaderBytes>;

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

bool may_connect(int connection, const std::vector<base::Address>& web_servers) {
  if (web_servers.empty()) return true;
  const std::optional<base::Address> peer = peer_of(connection);
  return !peer || std::ranges::find(web_servers, *peer) != web_servers.end();
}

// A file that holds a head that was taken, as a request without a body. Not open: the system gives none.
base::Fd file_of(std::string head) {
  constexpr std::size_t kLengthFromEnd = 4;
  std::fill(head.end() - kLengthFromEnd, head.end(), '\0');
  base::Fd file(memfd_create("request", MFD_CLOEXEC));
  if (!file || pwrite(file.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) return base::Fd();
  return file;
}

bool send_all(int connection, std::array<iovec, 2> parts) {
  while (parts[1].iov_len > 0 || parts[0].iov_len > 0) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = sendmsg(connection, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    auto left = static_cast<std::size_t>(sent);
    for (iovec& part : parts) {
      const std::size_t gone = std::min(left, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + gone;
      part.iov_len -= gone;
      left -= gone;
    }
  }
  return true;
}

// Writes to the request's STDOUT. REQUIRES: libfcgi holds nothing back.
bool send_records(const FCGX_Request& request, std::string_view content) {
  constexpr std::size_t kMostContent = 65528;
  while (!content.empty()) {
    const std::string_view piece = content.substr(0, kMostContent);
    content.remove_prefix(piece.size());
    const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xff); };
    const auto id = static_cast<std::size_t>(request.requestId);
    std::array<char, 8> header{1, kStdout, byte(id >> 8), byte(id), byte(piece.size() >> 8), byte(piece.size()), 0, 0};
    if (!send_all(request.ipcFd,
                  {iovec{header.data(), header.size()}, iovec{const_cast<char*>(piece.data()), piece.size()}}))
      return false;
  }
  return true;
}

class FastCgiExchange : public Exchange {
 public:
  FastCgiExchange(FCGX_Request& request, Crew::Seat& seat, std::optional<BodyRecords> body)
      : request_(request), seat_(seat), body_(std::move(body)) {}

  void about_to_wait() override { seat_.about_to_wait(); }

  const char* const* variables() const override { return request_.envp; }

  base::Result<std::size_t> read_body(std::span<char> to) override {
    if (body_) return body_->read(to);
    end_of_no_body();
    return std::size_t{0};
  }

  void break_off() override { broken_off_ = true; }
  // lighttpd takes an answer into a file of its own and, where it had none, tells its client the length of what came.
  Break how_breaks_show() const override {
    const char* const server = FCGX_GetParam("SERVER_SOFTWARE", request_.envp);
    return server != nullptr && std::string_view(server).starts_with("lighttpd") ? Break::shows_by_length
                                                                                 : Break::shows;
  }
  int watched() override { return request_.ipcFd; }

  bool is_abandoned() override {
    char next = 0;
    const ssize_t got = recv(request_.ipcFd, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  }

  bool is_broken_off() const { return broken_off_; }

  // Takes what is left of the body, which would be in the way of the next request. False: there can be none.
  bool forget_body() {
    if (!body_) {
      end_of_no_body();
      return true;
    }
    std::array<char, 16384> piece;
    for (;;) {
      const base::Result<std::size_t> got = body_->read(piece);
      if (!got || *got == 0) return body_->has_ended();
    }
  }

 private:
  // libfcgi would copy a long piece through its buffer and write it in records of 8 kB.
  base::Status put(std::string_view piece) override {
    if (piece.size() >= kLongPieceBytes) {
      if (FCGX_FFlush(request_.out) == 0 && send_records(request_, piece)) return base::ok();
    } else if (FCGX_PutStr(piece.data(), static_cast<int>(piece.size()), request_.out) >= 0) {
      return base::ok();
    }
    return base::Error{base::Fault::unavailable, "the web server takes no more of the answer"};
  }

  void end_of_no_body() {
    if (std::exchange(took_end_, true)) return;
    char none = 0;
    FCGX_GetStr(&none, 1, request_.in);  // its last record
  }

  FCGX_Request& request_;
  Crew::Seat& seat_;
  std::optional<BodyRecords> body_;
  bool took_end_ = false, broken_off_ = false;
};

// Ends an answer so that the client sees that its end is missing. Without END_REQUEST nginx shows that only if the
// connection was to be kept, with END_REQUEST only if it was not, and either only by a Content-Length; Apache hides
// both. What no web server takes for an end, of a connection or an answer, is a record that is none.
void break_stream(FCGX_Request& request) {
  FCGX_FFlush(request.out);
  constexpr std::array<unsigned char, 8> kNoRecord{};
  send(request.ipcFd, kNoRecord.data(), kNoRecord.size(), MSG_NOSIGNAL);
}

// Ends the request as FCGX_Finish_r does, which however closes a connection that takes no more, and waits up to two
// seconds for the other side to do so too. False: it takes no more.
bool finish(FCGX_Request& request) {
  const bool err_ended = FCGX_FClose(request.err) == 0;
  const bool out_ended = FCGX_FClose(request.out) == 0;
  const bool in_is_fine = FCGX_GetError(request.in) == 0;
  FCGX_Free(&request, 0);
  return err_ended && out_ended && in_is_fine;
}

// Whether an answer as long as its head, some times over, can be written without waiting for the web server.
bool takes_answers(int connection) {
  pollfd interest{connection, POLLOUT, 0};
  return poll(&interest, 1, 0) == 1;
}

// Answers a request whose variables libfcgi has read from the connection, or from a file with its head.
Crew::Then answer(FCGX_Request& request, FastCgiExchange& exchange, const Respond& respond) {
  respond(exchange);
  if (exchange.is_broken_off() || !exchange.forget_body()) {
    if (exchange.is_broken_off()) break_stream(request);
    FCGX_Free(&request, 0);
    return Crew::Then::linger;
  }
  const bool is_kept = request.keepConnection != 0;
  if (!finish(request)) return Crew::Then::close;
  return is_kept ? Crew::Then::next : Crew::Then::linger;
}

// Has libfcgi read a request's variables from a descriptor. False: it could not, and has closed that.
bool read_variables(FCGX_Request& request, int descriptor) {
  FCGX_InitRequest(&request, kNoListener, FCGI_FAIL_ACCEPT_ON_INTR);
  request.keepConnection = 1;  // else FCGX_Accept_r begins with closing it; the request itself tells anew
  request.ipcFd = descriptor;
  return FCGX_Accept_r(&request) == 0;
}

// The whole request is on the connection.
Crew::Then serve_there(int connection, Crew::Seat& seat, const Respond& respond) {
  if (!takes_answers(connection)) seat.about_to_wait();
  FCGX_Request request;
  if (!read_variables(request, connection)) return Crew::Then::closed;
  FastCgiExchange exchange(request, seat, std::nullopt);
  const Crew::Then then = answer(request, exchange, respond);
  // Nothing else can have come.
  return then == Crew::Then::linger && !exchange.is_broken_off() ? Crew::Then::close : then;
}

Crew::Then serve_taken(int connection, const std::string& head, Crew::Seat& seat, const Respond& respond) {
  seat.about_to_wait();
  base::Fd file = file_of(head);
  FCGX_Request request;
  if (!file || !read_variables(request, file.release())) return Crew::Then::close;
  close(request.ipcFd);
  request.ipcFd = connection;
  const base::Instant began = base::now();
  Arrival arrival{began, began};
  BodyRecords body([connection, &seat, &arrival](std::span<char> to) { return seat.receive(connection, to, arrival); },
                   HeaderView(std::prev(head.end(), BodyRecords::kHeaderBytes), head.end()));
  FastCgiExchange exchange(request, seat, std::move(body));
  return answer(request, exchange, respond);
}

}  // namespace

bool admit(int connection, const FastCgi& how) {
  if (!may_connect(connection, how.web_servers)) return false;
  bound_waits(connection, how.request_timeout);
  return true;
}

Crew::Then serve_request(int connection, Crew::Seat& seat, const Respond& respond, std::atomic<bool>& refused_before) {
  const Head head = look_at_head(connection, seat);
  switch (head.what) {
    case Head::What::nothing:
      return Crew::Then::nothing;
    case Head::What::ended:
      return Crew::Then::close;
    case Head::What::refused:
      if (!refused_before.exchange(true)) {
        base::log(base::Level::warning,
                  "refused what is no FastCGI request of a web server, and will again in silence");
      }
      return Crew::Then::close;
    case Head::What::there:
      return serve_there(connection, seat, respond);
    case Head::What::taken:
      return serve_taken(connection, head.bytes, seat, respond);
  }
  return Crew::Then::close;
}

}  // namespace balance
