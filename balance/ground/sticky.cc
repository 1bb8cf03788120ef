// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/sticky.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "balance/ground/siphash.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr SipKey kFirstHalf{0x6d617062616c616eU, 1}, kSecondHalf{0x6d617062616c616eU, 2};

// The same text gives the same key at every balancer; so does none.
SipKey cookie_key(std::string_view secret) { return {siphash(kFirstHalf, secret), siphash(kSecondHalf, secret)}; }

std::string hex(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[number >> shift & 0xF];
  return text;
}

void fill_in_places(Config& config) {
  std::vector<std::string> names;
  for (const HostConfig& host : config.hosts) names.push_back(base::lower(host.name));
  StickyConfig& sticky = config.sticky;
  sticky.by_name.resize(names.size());
  std::iota(sticky.by_name.begin(), sticky.by_name.end(), std::size_t{0});
  std::ranges::sort(sticky.by_name, {}, [&names](std::size_t host) -> const std::string& { return names[host]; });
  sticky.places.resize(names.size());
  std::string set;
  for (std::size_t place = 0; place < names.size(); ++place) {
    sticky.places[sticky.by_name[place]] = place;
    set.append(names[sticky.by_name[place]]).append(1, '\n');
  }
  sticky.names = base::fingerprint(set);
}

// The path below which the client is to send the cookie back. What may not stand there makes it the whole site.
std::string cookie_path(const Request& request, const Config& config) {
  const std::string& path = config.public_url ? config.public_url->path : request.self.path;
  const bool is_sound = path.starts_with('/') && std::ranges::all_of(path, [](char c) {
                          return c > 0x20 && c < 0x7F && c != ';' && c != ',' && c != '"' && c != '\\';
                        });
  return is_sound ? path : "/";
}

}  // namespace

void fill_in_sticky(Config& config) {
  StickyConfig& sticky = config.sticky;
  if (sticky.kind == Sticky::client_wild) fill_in_places(config);
  if (sticky.kind != Sticky::cookie) return;
  const SipKey key = cookie_key(sticky.key);
  for (const HostConfig& host : config.hosts) sticky.tokens.push_back(hex(siphash(key, base::lower(host.name))));
}

std::uint64_t identity_of(const HostConfig& host) { return base::fingerprint(base::lower(host.name)); }

std::optional<std::size_t> host_of_cookie(std::string_view header, const Config& config) {
  const std::vector<std::string>& tokens = config.sticky.tokens;
  if (tokens.empty()) return std::nullopt;
  for (const std::string_view cookie : base::split(header, ';')) {
    const std::size_t equals = cookie.find('=');
    if (equals == std::string_view::npos || base::trim(cookie.substr(0, equals)) != kOwnCookie) continue;
    const auto token = std::ranges::find(tokens, base::trim(cookie.substr(equals + 1)));
    if (token != tokens.end()) return static_cast<std::size_t>(token - tokens.begin());
  }
  return std::nullopt;
}

std::string sticky_cookie(const Request& request, const Config& config, std::size_t host) {
  const auto seconds = static_cast<std::uint64_t>(std::ceil(config.sticky.timeout.count()));
  std::string text(kOwnCookie);
  text.append(1, '=').append(config.sticky.tokens[host]);
  text.append("; Max-Age=").append(std::to_string(seconds));
  text.append("; Path=").append(cookie_path(request, config)).append("; HttpOnly");
  return text.append(request.client_on_https ? "; Secure; SameSite=None" : "; SameSite=Lax");
}

void keep_by_cookie(Reply& reply, const Request& request, const Config& config, std::size_t host) {
  if (config.sticky.kind != Sticky::cookie) return;
  std::string* control = nullptr;
  for (auto& [name, value] : reply.headers) {
    if (base::same_ignoring_case(name, "Cache-Control")) control = &value;
  }
  if (control == nullptr) {
    reply.headers.emplace_back("Cache-Control", "private");
  } else if (control->find("no-store") == std::string::npos && control->find("private") == std::string::npos) {
    control->append(control->empty() ? "private" : ", private");
  }
  reply.headers.emplace_back("Set-Cookie", sticky_cookie(request, config, host));
}

bool sets_own_cookie(std::string_view value) {
  return base::trim(value.substr(0, value.find_first_of("=;"))) == kOwnCookie;
}

}  // namespace balance
