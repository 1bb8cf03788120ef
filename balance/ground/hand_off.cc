// SPDX-License-Identifier: MIT
// Floor 1: values and pure functions, any thread.
#include "balance/ground/hand_off.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "balance/ground/relay_request.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

std::string_view last_entry(std::string_view list) { return base::trim(list.substr(list.find_last_of(",:") + 1)); }

std::string_view header_of(std::string_view forwarded) {
  if (forwarded == "X-Forwarded-For") return "X-Balance-For";
  if (forwarded == "X-Forwarded-Host") return "X-Balance-Public-Host";
  if (forwarded == "X-Forwarded-Port") return "X-Balance-Public-Port";
  return "X-Balance-Public-Proto";
}

}  // namespace

Reply hand_off(const Request& request, const HostConfig& host, const Config& config) {
  Reply reply;
  reply.headers.emplace_back("X-Accel-Redirect", request.hand_off_to);
  reply.headers.emplace_back("X-Balance-To", origin_of(host.inside));
  reply.headers.emplace_back("X-Balance-Path", path_on(request, host));
  reply.headers.emplace_back("X-Balance-Name", host.name);
  for (auto& [name, value] : forwarded_headers(request, config)) {
    reply.headers.emplace_back(header_of(name), std::move(value));
  }
  reply.headers.emplace_back("X-Balance-Mark", relay_mark(config));
  if (!config.cors_origin.empty()) reply.headers.emplace_back("Access-Control-Allow-Origin", config.cors_origin);
  if (config.host_header) reply.headers.emplace_back("X-Balance-Host", host.name);
  return reply;
}

std::string named_location(std::string_view text) {
  const bool is_name = text.size() > 1 && text.front() == '@' && std::ranges::all_of(text.substr(1), [](char c) {
                         const char letter = base::lower(c);
                         return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
                       });
  return is_name ? std::string(text) : "";
}

std::optional<FailedHandOff> failed_hand_off(std::string_view text) {
  const std::vector<std::string_view> parts = base::split(text, ';');
  if (parts.size() != 3 || base::trim(parts[0]).empty()) return std::nullopt;
  FailedHandOff failed;
  failed.host = base::trim(parts[0]);
  failed.status =
      static_cast<int>(std::min<std::uint64_t>(base::whole_number(last_entry(parts[1])).value_or(502), 999));
  failed.was_sent = last_entry(parts[2]) != "-";
  return failed;
}

}  // namespace balance
