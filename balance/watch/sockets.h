// SPDX-License-Identifier: MIT
// Non-blocking sockets on their way to a numeric address.
// Floor 3. Any thread.
#pragma once

#include <cstdint>

#include "balance/pool/belief.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/network.h"

namespace balance {

enum class Transport : std::uint8_t { tcp, udp };

struct Connecting {
  base::Fd socket;  // none: `error` says why
  int error = 0;    // errno; EINPROGRESS while it is under way, 0 once connected
};
Connecting start_connect(Transport transport, const base::Address& address, std::uint16_t port);

// How a connect that failed with this errno counts, and its phrase: "connection refused", "no route to host".
ProbeFailure connect_failure(int error);

}  // namespace balance
