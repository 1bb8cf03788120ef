// SPDX-License-Identifier: MIT
// A relay handed to the web server: nginx is told which host to ask, and does so itself (X-Accel-Redirect). Its side is
// etc/nginx/balance-accel.conf. Floor 1: values and pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "balance/ground/config.h"
#include "balance/ground/reply.h"
#include "balance/ground/request.h"

namespace balance {

// The order to the web server, at request.hand_off_to: X-Balance-To (origin), -Path and -Name are the host's,
// X-Balance-For, -Public-Host, -Public-Port, -Public-Proto and -Mark go into the request's X-Forwarded-* and the mark
// that shows a loop. The query and the body nginx has itself. REQUIRES: !request.hand_off_to.empty().
Reply hand_off(const Request& request, const HostConfig& host, const Config& config);

// '@balance_host': a named location of nginx, which keeps method and body. Anything else: "".
std::string named_location(std::string_view text);

// What nginx says when it comes back: 'pinchot; 200 : 502; 0.000 : 0.002', the host, and $upstream_status and
// $upstream_connect_time, lists whose last entries are of the failed try. Nothing if this is no such text.
std::optional<FailedHandOff> failed_hand_off(std::string_view text);

}  // namespace balance
