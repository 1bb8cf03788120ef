// SPDX-License-Identifier: MIT
// A query string as MapServer 8 reads it (cgiutil.c): split at '&' only, ';' is data, '+' is a space, %XX decoded once
// and before the '=' is looked for, %00 ends a value, keys compared without case, the first of duplicates wins.
// Floor 1: pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace balance {

class Query {
 public:
  explicit Query(std::string_view text);

  // The decoded value of the first parameter with this key (given in lower case), or nothing.
  std::optional<std::string_view> find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key).has_value(); }

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;  // decoded, keys in lower case
};

}  // namespace balance
