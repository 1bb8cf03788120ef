// SPDX-License-Identifier: MIT
// What rpc.rstatd is asked and answers: ONC RPC messages (RFC 5531) of program 100001 version 3, and of the port mapper
// (RFC 1833) that knows its port. Encoded by hand: the RPC libraries block for a minute on a silent host.
// Pure functions over bytes, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loadprobe/base/result.h"
#include "loadprobe/report.h"

namespace balance {

inline constexpr std::uint16_t kPortMapperPort = 111;

// The 40 bytes of a STATS call. `xid` comes back in the answer.
std::string stats_call(std::uint32_t xid);
// The 56 bytes of a GETPORT call: at which UDP port does rstatd version 3 listen?
std::string getport_call(std::uint32_t xid);

// Whether a datagram is the answer to the call with this xid. One that is not is passed over: late or forged.
bool answers(std::string_view datagram, std::uint32_t xid);

// The load averages and the boot time. Errors: not an accepted answer (the server's reason is named), cut short,
// negative or absurd values.
base::Result<loadprobe::Report> parse_stats(std::string_view datagram);
// The port, 1 to 65535. The error says so where rstatd is not registered.
base::Result<std::uint16_t> parse_getport(std::string_view datagram);

}  // namespace balance
