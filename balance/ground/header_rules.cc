// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/header_rules.h"

#include <algorithm>
#include <array>

#include "loadprobe/base/text.h"

namespace balance {

bool is_token_char(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const char letter = base::lower(c);
  return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || kMarks.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_token_char); }

bool is_header_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || c == '\t';
  });
}

bool is_hop_by_hop(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {"connection", "keep-alive",        "te",     "trailer",
                                                      "trailers",   "transfer-encoding", "upgrade"};
  return name.starts_with("proxy-") || std::ranges::find(kNames, name) != kNames.end();
}

std::vector<std::string> names_in(std::string_view connection) {
  std::vector<std::string> names;
  for (const std::string_view name : base::split(connection, ',')) {
    if (is_token(base::trim(name))) names.push_back(base::lower(base::trim(name)));
  }
  return names;
}

}  // namespace balance
