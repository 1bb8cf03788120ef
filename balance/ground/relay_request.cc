// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/relay_request.h"

#include <algorithm>
#include <array>

#include "balance/ground/header_rules.h"
#include "balance/ground/host_answer.h"
#include "balance/ground/reply.h"
#include "balance/ground/sticky.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Never passed on, beside hop-by-hop headers: what the web server tells of the body in other variables, what only we
// may say, and what is between a client and its next hop.
constexpr std::array<std::string_view, 12> kOurs = {"host",
                                                    "content-type",
                                                    "content-length",
                                                    "proxy",
                                                    "forwarded",
                                                    "x-real-ip",
                                                    "x-client-ip",
                                                    "expect",
                                                    "x-balance-relayed-by",
                                                    "x-cluster-client-ip",
                                                    "true-client-ip",
                                                    "http2-settings"};

bool is_ours(std::string_view name) {
  return is_hop_by_hop(name) || name.starts_with("x-forwarded-") || name.starts_with("x-original-") ||
         std::ranges::find(kOurs, name) != kOurs.end();
}

// 'ACCEPT_LANGUAGE' -> 'Accept-Language'; "" if it is no name of a header.
std::string header_name(std::string_view variable) {
  std::string name;
  bool begins_word = true;
  for (const char c : variable) {
    const char sent = c == '_' ? '-' : c;
    if (!is_token_char(sent)) return "";
    name += begins_word ? sent : base::lower(sent);
    begins_word = sent == '-';
  }
  return name;
}

// The cookies without ours; byte for byte the same where ours is not among them.
std::string foreign_cookies(std::string_view header) {
  std::string kept;
  bool found_ours = false;
  for (const std::string_view cookie : base::split(header, ';')) {
    if (base::trim(cookie.substr(0, cookie.find('='))) == kOwnCookie) {
      found_ours = true;
      continue;
    }
    if (base::trim(cookie).empty()) continue;
    kept.append(kept.empty() ? "" : "; ").append(base::trim(cookie));
  }
  return found_ours ? kept : std::string(header);
}

std::string_view relayed_by(const RawRequest& raw) { return raw.header("X_BALANCE_RELAYED_BY"); }

void add_mark(Headers& headers, const RawRequest& raw, const Config& config) {
  const std::string_view before = base::trim(relayed_by(raw));
  const bool is_sound = std::ranges::all_of(before, [](char c) { return is_token_char(c) || c == ',' || c == ' '; });
  std::string marks = before.empty() || !is_sound ? "" : std::string(before) + ", ";
  headers.emplace_back(kRelayedBy, marks + relay_mark(config));
}

bool goes_through(const std::string& name, std::string_view value, const std::vector<std::string>& named) {
  const std::string lower = base::lower(name);
  return !name.empty() && !is_ours(lower) && std::ranges::find(named, lower) == named.end() && is_header_value(value);
}

void add_clients(Headers& headers, const RawRequest& raw, const Request& request) {
  const std::vector<std::string> named = names_in(raw.header("CONNECTION"));
  const bool is_looked_at = wanted_by(request) == Wanted::picture;
  std::vector<std::string> met;
  for (const RawRequest::Header& header : raw.headers) {
    const std::string name = header_name(header.name);
    if (!goes_through(name, header.value, named)) continue;
    if (name == "Accept-Encoding" && is_looked_at) continue;
    if (std::ranges::find(met, name) != met.end()) continue;
    met.push_back(name);
    std::string value = name == "Cookie" ? foreign_cookies(header.value) : std::string(header.value);
    if (name == "Cookie" && value.empty()) continue;
    headers.emplace_back(name, std::move(value));
  }
}

std::string method_of(const RawRequest& raw, const Request& request) {
  switch (request.method) {
    case Method::get:
    case Method::head:
      return "GET";
    case Method::post:
      return "POST";
    case Method::options:
      return "OPTIONS";
    case Method::other:
      break;
  }
  return std::string(raw.method);
}

}  // namespace

Headers forwarded_headers(const Request& request, const Config& config) {
  Headers headers;
  if (request.client) headers.emplace_back("X-Forwarded-For", base::to_text(*request.client));
  const Url& self = config.public_url ? *config.public_url : request.self;
  if (self.host.empty()) return headers;
  const bool is_ipv6 = self.host.find(':') != std::string::npos;
  headers.emplace_back("X-Forwarded-Host", is_ipv6 ? "[" + self.host + "]" : self.host);
  headers.emplace_back("X-Forwarded-Port", std::to_string(self.port));
  headers.emplace_back("X-Forwarded-Proto", self.scheme == Scheme::https ? "https" : "http");
  return headers;
}

std::string relay_mark(const Config& config) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string mark;
  for (int shift = 60; shift >= 0; shift -= 4) mark += kHex[config.fingerprint >> shift & 0xF];
  return mark;
}

RelayRequest relay_request(const RawRequest& raw, const Request& request, const HostConfig& host,
                           const Config& config) {
  RelayRequest out;
  out.url = origin_of(host.inside) + path_on(request, host);
  if (!request.query.empty()) out.url.append(1, '?').append(request.query);
  out.method = method_of(raw, request);
  out.drop_body = request.method == Method::head;
  out.has_body = request.method == Method::post || request.method == Method::other;
  out.headers.emplace_back("Host", authority(host.inside));
  for (auto& header : forwarded_headers(request, config)) out.headers.push_back(std::move(header));
  add_mark(out.headers, raw, config);
  if (out.has_body && !raw.content_type.empty() && is_header_value(raw.content_type)) {
    out.headers.emplace_back("Content-Type", raw.content_type);
  }
  add_clients(out.headers, raw, request);
  return out;
}

bool is_relayed_round(const RawRequest& raw, const Config& config) {
  constexpr std::size_t kMostBalancers = 4;
  const std::string_view list = relayed_by(raw);
  if (list.empty()) return false;
  const std::string own = relay_mark(config);
  const std::vector<std::string_view> marks = base::split(list, ',');
  return marks.size() > kMostBalancers ||
         std::ranges::any_of(marks, [&own](std::string_view mark) { return base::trim(mark) == own; });
}

}  // namespace balance
