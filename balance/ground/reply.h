// SPDX-License-Identifier: MIT
// What the client gets, as a value, and its form for the web server's gateway (RFC 3875 6).
// Floor 1: values and pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/ground/config.h"
#include "balance/ground/format.h"
#include "balance/ground/request.h"

namespace balance {

struct Reply {
  int status = 200;                                          // 0: none is said, as a local redirect wants it
  std::string phrase;                                        // behind the status; "": the usual one
  std::vector<std::pair<std::string, std::string>> headers;  // without Status; names as they are written
  std::string body;                                          // not sent for HEAD
};

// 'Status: 302 Found', the headers, an empty line, the body. A CR or LF in a header's value would be a defect of ours:
// asserted.
std::string to_cgi(const Reply& reply, Method method);

// Whether this program can relay; `balance` cannot, `balance-relay` can.
enum class Relaying : std::uint8_t { absent, built_in };

// What is to be done with a request, before a host is chosen.
enum class Action : std::uint8_t {
  answer_options,  // 204 here
  answer_loop,     // 508 here: the request came through this balancer before
  redirect_302,
  redirect_307,
  redirect_locally,  // the web server is to serve another path of its own in place of this
  relay,             // only with Relaying::built_in
  accel,             // the web server is told to ask the host: hand_off()
  refuse,            // 503 that names `setting`: only relaying could answer
};
struct Plan {
  Action action = Action::redirect_302;
  std::string setting;  // for refuse: 'answer.image', 'mode'
  // For redirects: a host to which no redirect may lead (inside-only, or http for a client on https) is relayed to.
  bool or_relay = false;
};
// The answer to the request's class, as mode and answer.* say.
Plan plan_for(const Request& request, const Config& config, Relaying relaying);

// Whether every request that needs a host is relayed: mode = relay, and no class has another answer.
bool relays_all(const Config& config);
// Whether any request is ever relayed with this configuration: where not, the program that cannot relay will do.
bool ever_relays(const Config& config);

// Whether this host may be the target of a redirect of this request: it has a public URL, no downgrade from https
// unless allowed, and is no loop. The reason where not.
enum class Target : std::uint8_t { fit, inside_only, downgrade, loop, failed };
std::string_view name_of(Target target);    // 'fit', 'inside-only', 'downgrade', 'loop', 'failed'
std::string_view reason_of(Target target);  // a sentence for unavailable() that names the setting; "" for fit
Target target_of(const Request& request, const HostConfig& host, const Config& config);
// The same for a relay: fit, a loop, or failed: the web server asked this host for this request just now.
Target relay_target_of(const Request& request, const HostConfig& host, const Config& config);
// The same for either, as the plan has it.
Target target_of(const Request& request, const HostConfig& host, const Config& config, const Plan& plan);
// What the plan comes to with this host: its action, or a relay where only that can reach the host.
// REQUIRES: target_of(..., plan) == Target::fit.
Action action_at(const Request& request, const HostConfig& host, const Config& config, const Plan& plan);

// The script and path info on this host, or the whole path of an artifact: '/cgi-bin/mapserv/ogcapi'.
std::string path_on(const Request& request, const HostConfig& host);

// 302 or 307 to the host: absolute URL whose scheme, authority and script come from the configuration alone.
// REQUIRES: target_of(...) == Target::fit.
Reply redirect(const Request& request, const HostConfig& host, const Config& config, Action action);
// A CGI local redirect to Config::local. REQUIRES: stays_here(...).
Reply local_redirect(const Request& request, const Config& config);
// Whether a redirect to this host is one for the web server alone, since the host is this machine: where the server
// does that, and that leads to another program than this one. A reply of that kind cannot set a cookie.
bool stays_here(const Request& request, const HostConfig& host, const Config& config);
// The bytes of that Location.
std::string location(const Request& request, const HostConfig& host);

// The body says what happened in the format that the request asks for: a page for people, or an exception document.
Format format_of(const Request& request);
Format format_of(const RawRequest& raw);  // of one that was not understood

Reply options_reply(const Request& request, const Config& config);                         // 204
Reply unavailable(const Request& request, const Config& config, std::string_view reason);  // 503, Retry-After
Reply loop_detected(const Request& request, const Config& config);                         // 508
Reply bad_request(const Config& config, Format format, std::string_view reason);           // 400
Reply internal_error(const Config& config, Format format);                                 // 500
Reply too_large(const Request& request, const Config& config);  // 413 that names relay.max-body
Reply bad_gateway(const Request& request, const Config& config, std::string_view reason);      // 502
Reply gateway_timeout(const Request& request, const Config& config, std::string_view reason);  // 504

}  // namespace balance
