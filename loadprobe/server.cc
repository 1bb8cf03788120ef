// SPDX-License-Identifier: MIT
// Floor 3.
#include "loadprobe/server.h"

#include <microhttpd.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "loadprobe/listener.h"

namespace loadprobe {
namespace {

constexpr std::size_t kConnectionBytes = 8192;
constexpr unsigned kIdleSeconds = 30;

std::optional<std::string_view> argument(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
  if (!value) return std::nullopt;
  return std::string_view(value);
}

base::Address peer_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* peer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return peer && peer->client_addr ? address_of(*peer->client_addr) : base::Address{};
}

struct DestroyResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};

MHD_Result send(MHD_Connection* connection, Reply reply) {
  const std::unique_ptr<MHD_Response, DestroyResponse> response(
      MHD_create_response_from_buffer(reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY));
  if (!response) return MHD_NO;
  MHD_add_response_header(response.get(), "Content-Type", reply.content_type.c_str());
  MHD_add_response_header(response.get(), "Cache-Control", "no-store");
  if (reply.status >= 400) MHD_add_response_header(response.get(), "Connection", "close");
  if (reply.status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response.get(), "Allow", "GET, HEAD");
  return MHD_queue_response(connection, reply.status, response.get());
}

// Called by libmicrohttpd first when a request's headers are there, and again when its body is. Only an answer to the
// second call keeps the connection; so a method that may have a body is answered at the first, and a body where none
// belongs ends the connection unread.
MHD_Result answer(void* server, MHD_Connection* connection, const char* path, const char* method, const char*,
                  const char*, std::size_t* body_bytes, void** seen) {
  static char mark = 0;
  const std::string_view name = method;
  const bool bodiless = name == "GET" || name == "HEAD";
  if (*body_bytes != 0) return MHD_NO;
  if (bodiless && *seen != &mark) {
    *seen = &mark;
    return MHD_YES;
  }
  try {
    const Question question{name,
                            path,
                            argument(connection, "balancer"),
                            argument(connection, "dispatched"),
                            Admission::refused,
                            argument(connection, "map_processes")};
    return send(connection, static_cast<const Server*>(server)->handler()(question, peer_of(connection)));
  } catch (const std::exception&) {
    return MHD_NO;  // out of memory: closes this connection, and may not pass through C
  }
}

}  // namespace

void Server::Stop::operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }

base::Result<std::unique_ptr<Server>> Server::start(Handler handler) {
  std::unique_ptr<Server> server(new Server(std::move(handler)));
  // Neither thread nor listening socket of its own: one thread, ours, for all addresses and for the signals. And no
  // epoll: its edges lose an end of stream that comes together with the last bytes, and the connection stays until it
  // times out.
  server->daemon_.reset(MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET, 0, nullptr, nullptr, answer, server.get(),
                                         MHD_OPTION_CONNECTION_LIMIT, kMostConnections, MHD_OPTION_CONNECTION_TIMEOUT,
                                         kIdleSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,
                                         MHD_OPTION_END));
  if (!server->daemon_) return base::system_error("cannot start the HTTP server");
  return server;
}

void Server::take(base::Fd connection) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  auto* address = reinterpret_cast<sockaddr*>(&peer);
  if (::getpeername(connection.get(), address, &size) != 0) return;
  // Closes the socket if it fails.
  MHD_add_connection(daemon_.get(), connection.release(), address, size);
}

unsigned Server::connections() const {
  const MHD_DaemonInfo* told = MHD_get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return told ? told->num_connections : kMostConnections;
}

base::Status Server::turn(std::span<const int> others, std::optional<std::chrono::milliseconds> most) {
  fd_set readable, writable, failed;
  FD_ZERO(&readable);
  FD_ZERO(&writable);
  FD_ZERO(&failed);
  int greatest = -1;
  MHD_get_fdset(daemon_.get(), &readable, &writable, &failed, &greatest);
  for (const int other : others) {
    if (other < 0 || other >= FD_SETSIZE) continue;
    FD_SET(other, &readable);
    greatest = std::max(greatest, other);
  }
  MHD_UNSIGNED_LONG_LONG patience = 0;
  if (MHD_get_timeout(daemon_.get(), &patience) == MHD_YES) {
    const std::chrono::milliseconds silence(std::min<MHD_UNSIGNED_LONG_LONG>(patience, 60000));
    most = std::min(most.value_or(silence), silence);
  }
  timeval wait{};
  if (most) wait = {most->count() / 1000, most->count() % 1000 * 1000};
  if (::select(greatest + 1, &readable, &writable, &failed, most ? &wait : nullptr) < 0) {
    if (errno != EINTR) return base::system_error("cannot wait for requests");
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_ZERO(&failed);
  }
  MHD_run_from_select(daemon_.get(), &readable, &writable, &failed);
  return base::ok();
}

}  // namespace loadprobe
