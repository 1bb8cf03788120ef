// SPDX-License-Identifier: MIT
// See sockets.h.
#include "balance/watch/sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "loadprobe/base/text.h"

namespace balance {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

SocketAddress socket_address(const base::Address& address, std::uint16_t port) {
  SocketAddress out;
  if (address.is_ipv4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes.data() + 12, 4);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.length = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.length = sizeof v6;
  }
  return out;
}

}  // namespace

Connecting start_connect(Transport transport, const base::Address& address, std::uint16_t port) {
  const SocketAddress to = socket_address(address, port);
  const int type = (transport == Transport::tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
  Connecting out{base::Fd(::socket(to.storage.ss_family, type, 0)), 0};
  if (!out.socket) return {base::Fd(), errno};
  const void* storage = &to.storage;
  if (::connect(out.socket.get(), static_cast<const sockaddr*>(storage), to.length) == 0) return out;
  out.error = errno;
  if (out.error != EINPROGRESS) out.socket.close();
  return out;
}

ProbeFailure connect_failure(int error) {
  if (error == ECONNREFUSED) return {Failure::refused, "connection refused"};
  if (error == ECONNRESET) return {Failure::reset, "connection reset"};
  const char* reason = ::strerrordesc_np(error);
  const std::string text = reason != nullptr && error != 0 ? reason : "cannot connect";
  return {Failure::timeout, base::lower(std::string_view(text))};
}

}  // namespace balance
