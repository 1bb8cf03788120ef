// SPDX-License-Identifier: MIT
// One request of a FastCGI connection, and the exchange that it is.
// Floor 3. Any thread of a crew, one connection each.
#pragma once

#include <atomic>

#include "balance/front/crew.h"
#include "balance/front/gateway.h"

namespace balance {

// Serves the request that has come on the connection, if one has. `refused_before`: something else than FastCGI was
// logged.
Crew::Then serve_request(int connection, Crew::Seat& seat, const Respond& respond, std::atomic<bool>& refused_before);

// What a new connection needs. False: the peer may not connect.
bool admit(int connection, const FastCgi& how);

}  // namespace balance
