// SPDX-License-Identifier: MIT
// The request that a host gets for a client's request. Floor 1: values and pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/ground/config.h"
#include "balance/ground/request.h"

namespace balance {

// What marks a relayed request: the fingerprints of the balancers that it came through, so that a loop is seen.
inline constexpr std::string_view kRelayedBy = "X-Balance-Relayed-By";

struct RelayRequest {
  std::string url;     // absolute, of printable ASCII; scheme, authority and (artifacts excepted) script are the host's
  std::string method;  // 'GET', 'POST' or another token; HEAD is sent as GET, since mapserv answers HEAD with an error
  // In order, Host first; every value is one line. These and nothing else are sent, but for Content-Length (or chunks)
  // of the body, which whoever sends it knows. No header of the same name is to be added.
  std::vector<std::pair<std::string, std::string>> headers;
  bool has_body = false;   // the client's body belongs to it
  bool drop_body = false;  // HEAD: of the answer only the head goes to the client
};

// What the client sent goes through as it came, byte for byte (Cookie loses ours), but: hop-by-hop headers and those
// that Connection names; Proxy, Forwarded, Via-like and X-Forwarded-* ones, X-Real-IP; Expect; headers with a control
// character; and Accept-Encoding of a request for a picture, whose first bytes are looked at. In their place come one
// address in X-Forwarded-For, and X-Forwarded-Host (no port), -Port and -Proto of public-url, else of request.self.
// REQUIRES: the request and the raw one belong together.
RelayRequest relay_request(const RawRequest& raw, const Request& request, const HostConfig& host, const Config& config);

// X-Forwarded-For, -Host, -Port and -Proto as a host is to see them.
std::vector<std::pair<std::string, std::string>> forwarded_headers(const Request& request, const Config& config);
// This balancer's fingerprint, for X-Balance-Relayed-By.
std::string relay_mark(const Config& config);

// Whether this request already came through this balancer, or through more than a few: relaying it goes round.
bool is_relayed_round(const RawRequest& raw, const Config& config);

}  // namespace balance
