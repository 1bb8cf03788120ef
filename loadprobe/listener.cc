// SPDX-License-Identifier: MIT
// Floor 3. Any thread.
#include "loadprobe/listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace loadprobe {
namespace {

using base::Address;
using base::Endpoint;
using base::Fd;
using base::Result;

constexpr int kBacklog = 64;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress socket_address(const Endpoint& place) {
  SocketAddress out;
  if (place.address.is_ipv4()) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(place.port);
    std::memcpy(&ipv4.sin_addr, place.address.bytes.data() + 12, 4);
    std::memcpy(&out.storage, &ipv4, out.size = sizeof ipv4);
  } else {
    sockaddr_in6 ipv6{};
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(place.port);
    std::memcpy(&ipv6.sin6_addr, place.address.bytes.data(), 16);
    std::memcpy(&out.storage, &ipv6, out.size = sizeof ipv6);
  }
  return out;
}

bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

// The listening socket, or none with errno set.
Fd bound_socket(const Endpoint& place) {
  SocketAddress address = socket_address(place);
  Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return {};
  const bool ipv6 = address.storage.ss_family == AF_INET6;
  if (!set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1) ||
      (ipv6 && !set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0)) ||
      ::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    const int code = errno;
    fd.close();
    errno = code;
  }
  return fd;
}

Endpoint place_of(const Fd& socket, Endpoint wanted) {
  SocketAddress address;
  if (::getsockname(socket.get(), address.get(), &address.size) != 0) return wanted;
  in_port_t port = 0;
  // The port is at the same place in both families' addresses.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(&port, reinterpret_cast<const char*>(&address.storage) + offsetof(sockaddr_in, sin_port), sizeof port);
  wanted.port = ntohs(port);
  return wanted;
}

}  // namespace

Result<Listener> listen_at(const Endpoint& place) {
  const Endpoint any_ipv6{Address{}, place.port};
  Endpoint taken = place;
  Fd socket = bound_socket(taken);
  const bool no_ipv6 = errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
  if (!socket && no_ipv6 && place.address == any_ipv6.address) {
    taken.address = *base::parse_address("0.0.0.0");
    socket = bound_socket(taken);
  }
  if (!socket) return base::system_error("cannot listen at " + to_text(taken));
  const Endpoint got = place_of(socket, taken);
  return Listener{std::move(socket), got};
}

std::string to_text(const Endpoint& place) {
  const std::string address = base::to_text(place.address);
  return (place.address.is_ipv4() ? address : "[" + address + "]") + ":" + std::to_string(place.port);
}

Address address_of(const sockaddr& peer) {
  Address address;
  if (peer.sa_family == AF_INET) {
    address = *base::parse_address("0.0.0.0");
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(peer);
    std::memcpy(address.bytes.data() + 12, &ipv4.sin_addr, 4);
  } else if (peer.sa_family == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(peer);
    std::memcpy(address.bytes.data(), &ipv6.sin6_addr, 16);
  }
  return address;
}

}  // namespace loadprobe
