// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/relay_response.h"

#include <algorithm>

#include "balance/ground/header_rules.h"
#include "balance/ground/sticky.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

base::Error malformed(std::string_view found, std::string_view wanted) {
  return base::Error{base::Fault::input,
                     "the answer's head has '" + base::escaped(found, 80) + "'; wanted " + std::string(wanted)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// By these a web server would take orders from a host: to serve a file of its own, to say another status.
bool is_order(std::string_view name) {
  return name == "status" || name.starts_with("x-accel-") || name.starts_with("x-sendfile") ||
         name.starts_with("x-lighttpd-") || name == "script-control";
}

bool is_dropped(std::string_view name, const std::vector<std::string>& named) {
  return is_hop_by_hop(name) || is_order(name) || name == "content-length" || name == "alt-svc" ||
         name == "x-balance-host" || std::ranges::find(named, name) != named.end();
}

bool may_have_body(int status) { return status != 204 && status != 304; }

}  // namespace

std::string_view HostHead::find(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (base::same_ignoring_case(key, name)) return value;
  }
  return "";
}

base::Status HeadReader::add(std::string_view line) {
  if (is_broken_) return malformed("", "no more of a head that was refused");
  if (is_whole_) *this = HeadReader();
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  bytes_ += line.size() + 2;
  base::Status taken = bytes_ > kMostBytes ? malformed(line, "at most " + std::to_string(kMostBytes) + " bytes")
                       : !has_begun_       ? add_status(line)
                       : line.empty()      ? finish()
                                           : add_header(line);
  is_broken_ = !taken;
  return taken;
}

// 'HTTP/1.1 200 OK', 'HTTP/2 200 ' (RFC 9112 4).
base::Status HeadReader::add_status(std::string_view line) {
  has_begun_ = true;
  const std::size_t space = line.find(' ');
  const std::string_view rest = space == std::string_view::npos ? "" : line.substr(space + 1);
  const bool has_code =
      rest.size() >= 3 && std::ranges::all_of(rest.substr(0, 3), is_digit) && (rest.size() == 3 || rest[3] == ' ');
  if (!line.starts_with("HTTP/") || !has_code || !is_header_value(line)) {
    return malformed(line, "a status line such as 'HTTP/1.1 200 OK'");
  }
  head_.status = (rest[0] - '0') * 100 + (rest[1] - '0') * 10 + (rest[2] - '0');
  if (head_.status < 100 || head_.status > 599) return malformed(line, "a status from 100 to 599");
  head_.reason = base::printable(base::trim(rest.substr(3)), 100);
  return base::ok();
}

base::Status HeadReader::add_header(std::string_view line) {
  if (head_.headers.size() >= kMostHeaders) {
    return malformed(line, "at most " + std::to_string(kMostHeaders) + " headers");
  }
  const std::size_t colon = line.find(':');
  // A line that begins with white space, and a name with white space behind it, are read in two ways by two programs.
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return malformed(line, "'NAME: VALUE', with nothing between name and colon");
  }
  const std::string_view value = base::trim(line.substr(colon + 1));
  if (!is_header_value(value)) return malformed(line, "a value without control characters");
  head_.headers.emplace_back(line.substr(0, colon), value);
  return base::ok();
}

base::Status HeadReader::finish() {
  is_whole_ = true;
  std::optional<std::uint64_t> length;
  for (const auto& [name, value] : head_.headers) {
    if (!base::same_ignoring_case(name, "Content-Length")) continue;
    for (const std::string_view one : base::split(value, ',')) {
      const std::optional<std::uint64_t> bytes = base::whole_number(base::trim(one));
      if (!bytes || (length && *length != *bytes)) return malformed(value, "one Content-Length");
      length = bytes;
    }
  }
  // With chunks the length is theirs alone (RFC 9112 6.3).
  if (head_.find("Transfer-Encoding").empty()) head_.content_length = length;
  return base::ok();
}

Reply relay_reply(const HostHead& head, const HostConfig& host, const Config& config) {
  Reply reply;
  reply.status = head.status;
  reply.phrase = head.reason;
  std::vector<std::string> named;
  for (const auto& [name, value] : head.headers) {
    if (!base::same_ignoring_case(name, "Connection")) continue;
    for (std::string& one : names_in(value)) named.push_back(std::move(one));
  }
  bool has_origin = false;
  for (const auto& [name, value] : head.headers) {
    const std::string lower = base::lower(name);
    if (is_dropped(lower, named) || (lower == "set-cookie" && sets_own_cookie(value))) continue;
    has_origin = has_origin || lower == "access-control-allow-origin";
    reply.headers.emplace_back(name, value);
  }
  if (head.content_length && may_have_body(head.status)) {
    reply.headers.emplace_back("Content-Length", std::to_string(*head.content_length));
  }
  if (!has_origin && !config.cors_origin.empty()) {
    reply.headers.emplace_back("Access-Control-Allow-Origin", config.cors_origin);
  }
  if (config.host_header) reply.headers.emplace_back("X-Balance-Host", host.name);
  return reply;
}

}  // namespace balance
