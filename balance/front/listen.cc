// SPDX-License-Identifier: MIT
#include "balance/front/listen.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "loadprobe/base/network.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr mode_t kAllButOwnerAndGroup = 0117;  // leaves 0660

union AnySocketAddress {
  sockaddr any;
  sockaddr_un un;
  sockaddr_in in;
  sockaddr_in6 in6;
};

bool somebody_listens(const AnySocketAddress& address) {
  const base::Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return true;
  return connect(probe.get(), &address.any, sizeof address.un) == 0 || errno != ECONNREFUSED;
}

base::Status make_way(const std::string& path, const AnySocketAddress& address) {
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) return base::ok();
  if (!S_ISSOCK(there.st_mode)) {
    return base::Error{base::Fault::usage, path + " is there and is no socket; it is left alone"};
  }
  if (somebody_listens(address)) {
    return base::Error{base::Fault::unavailable, "somebody listens on " + path + " already"};
  }
  if (unlink(path.c_str()) != 0) return base::system_error("cannot remove the stale socket " + path);
  return base::ok();
}

base::Result<Listener> listen_on_unix(const std::string& path) {
  AnySocketAddress address{};
  address.un.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.un.sun_path) {
    return base::Error{base::Fault::usage, "--listen: the path '" + path + "' has " + std::to_string(path.size()) +
                                               " bytes; wanted 1 to " + std::to_string(sizeof address.un.sun_path - 1)};
  }
  std::copy(path.begin(), path.end(), address.un.sun_path);
  if (base::Status way = make_way(path, address); !way) return std::move(way).error();
  Listener listener{base::Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), path, false};
  if (!listener.socket) return base::system_error("cannot make a socket");
  const mode_t before = umask(kAllButOwnerAndGroup);
  const int bound = bind(listener.socket.get(), &address.any, sizeof address.un);
  const int error = errno;
  umask(before);
  errno = error;
  if (bound != 0) return base::system_error("cannot bind to " + path);
  if (listen(listener.socket.get(), SOMAXCONN) != 0) return base::system_error("cannot listen on " + path);
  return listener;
}

bool is_loopback(const base::Address& address) {
  constexpr std::uint8_t kLoopback4 = 127;
  base::Address loopback6;
  loopback6.bytes.back() = 1;
  return address.is_ipv4() ? address.bytes[12] == kLoopback4 : address == loopback6;
}

socklen_t fill(AnySocketAddress& to, const base::Endpoint& from) {
  if (from.address.is_ipv4()) {
    to.in.sin_family = AF_INET;
    to.in.sin_port = htons(from.port);
    std::memcpy(&to.in.sin_addr, from.address.bytes.data() + 12, sizeof to.in.sin_addr);
    return sizeof to.in;
  }
  to.in6.sin6_family = AF_INET6;
  to.in6.sin6_port = htons(from.port);
  std::memcpy(&to.in6.sin6_addr, from.address.bytes.data(), sizeof to.in6.sin6_addr);
  return sizeof to.in6;
}

base::Result<Listener> listen_on_tcp(std::string_view where) {
  base::Result<base::Endpoint> endpoint = base::parse_endpoint(where);
  if (!endpoint) {
    return base::Error{base::Fault::usage,
                       "--listen: '" + base::escaped(where) +
                           "' is no place to listen at; wanted unix:PATH or a numeric address and a port, as in "
                           "'unix:/run/balance/front.sock' or '127.0.0.1:9000'"};
  }
  AnySocketAddress address{};
  const socklen_t bytes = fill(address, *endpoint);
  Listener listener{base::Fd(socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)), "",
                    !is_loopback(endpoint->address)};
  const std::string name(where);
  if (!listener.socket) return base::system_error("cannot make a socket for " + name);
  const int on = 1;
  setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener.socket.get(), &address.any, bytes) != 0) return base::system_error("cannot bind to " + name);
  if (listen(listener.socket.get(), SOMAXCONN) != 0) return base::system_error("cannot listen on " + name);
  return listener;
}

}  // namespace

base::Result<Listener> listen_on(std::string_view where) {
  if (where.substr(0, kUnix.size()) == kUnix) return listen_on_unix(std::string(where.substr(kUnix.size())));
  return listen_on_tcp(where);
}

}  // namespace balance
