// SPDX-License-Identifier: MIT
// Sockets that listen, and the addresses at their ends.
// Floor 3. Any thread.
#pragma once

#include <string>

#include "loadprobe/base/fd.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"

struct sockaddr;

namespace loadprobe {

struct Listener {
  base::Fd socket;       // non-blocking
  base::Endpoint place;  // as it was got: another one than wanted where the machine has no IPv6, and with a real port
};

// Listens at a place. [::] takes IPv4 too, and gives way to 0.0.0.0 where there is no IPv6. The error names the place.
base::Result<Listener> listen_at(const base::Endpoint& place);

// '127.0.0.1:9719', '[::]:9719'.
std::string to_text(const base::Endpoint& place);

// The address in a sockaddr_in or sockaddr_in6; '::' for another family.
base::Address address_of(const sockaddr& peer);

}  // namespace loadprobe
