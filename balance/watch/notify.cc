// SPDX-License-Identifier: MIT
// See notify.h.
#include "balance/watch/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>

#include "loadprobe/base/fd.h"

namespace balance {

void notify_supervisor(const std::string& socket, const std::string& state) {
  sockaddr_un address{};
  if (socket.empty() || socket.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::copy(socket.begin(), socket.end(), std::begin(address.sun_path));
  if (socket.front() == '@') address.sun_path[0] = '\0';
  const base::Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const void* to = &address;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  [[maybe_unused]] const ssize_t sent =
      ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, static_cast<const sockaddr*>(to), length);
}

}  // namespace balance
