// SPDX-License-Identifier: MIT
// The requests of one FastCGI connection, one after another, and the exchange that each of them is.
// Floor 3. Any thread of a crew, one connection each.
#pragma once

#include <atomic>

#include "balance/front/crew.h"
#include "balance/front/gateway.h"
#include "loadprobe/base/fd.h"

namespace balance {

// Serves the connection to its end. `refused_before`: something else than FastCGI was logged.
void serve_connection(base::Fd connection, Crew::Seat& seat, const FastCgi& how, const Respond& respond,
                      std::atomic<bool>& refused_before);

}  // namespace balance
