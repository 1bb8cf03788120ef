// SPDX-License-Identifier: MIT
// How a try at a host may end, and what may be tried again: a map can be drawn twice, a transaction must not be carried
// out twice. Floor 1: values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "balance/ground/request.h"

namespace balance {

// How one try at one host ended. The numbers stand in the shared table: do not change them.
enum class Relayed : std::uint8_t {
  fine = 0,             // or the client's own fault, which counts against nobody
  no_connection = 1,    // refused, unreachable, no answer to the connect in time, TLS that fails
  timed_out = 2,        // no first byte within response-timeout, or a stall
  bad_gateway = 3,      // 502
  unavailable = 4,      // 503
  gateway_timeout = 5,  // 504
  host_fault = 6,       // MapServer's own failure, a 500 of the web server, a head that makes no sense
  broke_off = 7,        // the connection was closed before the answer's head or its end
};
inline constexpr std::size_t kRelayedEnds = 8;
std::string_view phrase_of(Relayed end);  // for people: 'no connection', 'answered 502'

// Whether carrying a request out twice would differ from doing it once.
enum class Effect : std::uint8_t { none, possible };
// GET and HEAD have none. POST has none if it is a form (KVP) or an XML document whose operation is known to read only:
// GetMap, GetFeature, GetCapabilities and the like, or a page of mapserv. Anything else may have one: Transaction,
// LockFeature, InsertSensor, SOAP, a document type, JSON, what cannot be read to the end of its operation's name.
// `body`: the first bytes, kEffectBytes or all of them; `is_whole`: they are all. A form must be whole.
inline constexpr std::size_t kEffectBytes = 65536;
Effect effect_of(const Request& request, std::string_view content_type, std::string_view body, bool is_whole);

// A form's body names a page's files as a query does: fills in request.is_page_follow_up.
void note_form(Request& request, std::string_view content_type, std::string_view body);

// The same of a try that the web server made for us.
Relayed relayed_of(const FailedHandOff& failed);

// What was tried so far for one request.
struct Tries {
  unsigned unconnected = 0;  // the request was never sent
  unsigned sent = 0;         // it was, at least in part
};
inline constexpr unsigned kMostTries = 3, kMostSent = 2;
enum class Begun : std::uint8_t { no, yes };  // the first byte of an answer went to the client
// Whether another host may be tried after these. After failed connections up to two more; a request that was sent once,
// and only if it has no effect; nothing once the client has a byte of an answer, or where the request is known to fail
// everywhere (`is_killer`).
bool may_try_again(const Tries& tries, Effect effect, Begun begun, bool is_killer);

// An artifact that one host does not have may be on the next: after a 404 (the hosts of the choice are in its order).
bool may_look_elsewhere(const Request& request, int status);

// Which ends of one request's tries count against their hosts: all but fine ones; but not MapServer's own failures
// where two hosts agree on them, nor anything but failed connections of a request that is known to fail everywhere:
// then the request is at fault. `at` is the index of the try in question. A failed connection may be counted at once,
// the rest when the request is done.
bool counts_against_host(std::span<const Relayed> tries, std::size_t at, bool is_killer);

// Whether these tries make the request one that is not tried on other hosts for a while: it was sent to two hosts and
// failed on both.
bool is_now_killer(std::span<const Relayed> tries);
inline constexpr base::Seconds kKillerKept{60};

// Tells a request from others, whoever sends it: method, path, query, and a fingerprint of the body (0: none).
std::uint64_t request_fingerprint(const Request& request, std::uint64_t body_fingerprint);

}  // namespace balance
