// SPDX-License-Identifier: MIT
// Tells a supervisor how we are (sd_notify(3)'s protocol: one datagram to the socket it named).
// Floor 3. Any thread.
#pragma once

#include <string>

namespace balance {

// `socket`: what NOTIFY_SOCKET holds, a path or '@' and an abstract name; "" does nothing. `state`: "READY=1". Nobody
// listening is no fault: the message is for whoever cares.
void notify_supervisor(const std::string& socket, const std::string& state);

}  // namespace balance
