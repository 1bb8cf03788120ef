// SPDX-License-Identifier: MIT
// How clients are kept with a host: the balancer's own cookie, and what makes hosts the same to several balancers and
// configurations, which is their names. Floor 1: values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "balance/ground/config.h"
#include "balance/ground/reply.h"
#include "balance/ground/request.h"

namespace balance {

// The balancer's own cookie. mapserv takes cookies for parameters, and a host behind the same name as the balancer gets
// this one too: no parameter, and no variable of a template, has this name. A relay never passes it on.
inline constexpr std::string_view kOwnCookie = "BALANCE_HOST";

// Fills in what Config::sticky has of the hosts.
void fill_in_sticky(Config& config);

// What tells a host from others, whichever configuration names it: a hash of its name in small letters.
std::uint64_t identity_of(const HostConfig& host);

// The host that a Cookie header names, if the configuration says sticky = cookie: the first of our cookies that is
// whole and names a host of ours. Anything else is as if there were none.
std::optional<std::size_t> host_of_cookie(std::string_view header, const Config& config);

// The value of a Set-Cookie header that keeps the client with this host for sticky-timeout. With SameSite=None where
// the client is on https, so that maps on pages of other sites have it too; browsers take that together with Secure
// alone, so elsewhere it is Lax.
std::string sticky_cookie(const Request& request, const Config& config, std::size_t host);

// Puts that header on the reply; nothing unless sticky = cookie. What caches may keep of it is then for this client
// alone.
void keep_by_cookie(Reply& reply, const Request& request, const Config& config, std::size_t host);

// Whether this is the value of a Set-Cookie header for our own cookie: hosts do not set that.
bool sets_own_cookie(std::string_view value);

}  // namespace balance
