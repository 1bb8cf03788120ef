// SPDX-License-Identifier: MIT
// Relays: takes the client's body, chooses a host, passes the request on and the answer back, and where a host fails
// tries another one, as far as the rules allow (balance/ground/retry.h).
// Floor 3. Any thread may call relay().
#pragma once

#include <memory>

#include "balance/front/relayer.h"
#include "loadprobe/base/result.h"

namespace balance {

// Call before threads start. The error says why nothing can be relayed.
base::Result<std::unique_ptr<Relayer>> make_relay();

}  // namespace balance
