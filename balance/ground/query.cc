// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/query.h"

#include <algorithm>

#include "balance/ground/url.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

// mapserv decodes a parameter before it looks for its '=', and keeps it as a C string: %00 ends it.
std::string decoded(std::string_view parameter) {
  std::string text(parameter);
  std::ranges::replace(text, '+', ' ');
  if (text.find('%') != std::string::npos) text = percent_decoded(text);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace

Query::Query(std::string_view text) {
  parameters_.reserve(static_cast<std::size_t>(std::ranges::count(text, '&')) + 1);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('&', start), text.size());
    const std::string parameter = decoded(text.substr(start, end - start));
    const std::size_t key_end = std::min(parameter.find('='), parameter.size());
    auto& [key, value] = parameters_.emplace_back();
    key.assign(parameter, 0, key_end);
    for (char& c : key) c = base::lower(c);
    value.assign(parameter, std::min(key_end + 1, parameter.size()));
    start = end + 1;
  }
}

std::optional<std::string_view> Query::find(std::string_view key) const {
  const auto found = std::ranges::find(parameters_, key, &std::pair<std::string, std::string>::first);
  if (found == parameters_.end()) return std::nullopt;
  return found->second;
}

}  // namespace balance
