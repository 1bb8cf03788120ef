// SPDX-License-Identifier: MIT
// Hosts as people write them into scripts: 'pinchot', 'pinchot:8080', a URL, pairs, references.
// Floor 1: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balance/perl/pool.h"
#include "balance/perl/values.h"

namespace balance::perl {

// 'host', 'host:port', 'http://host:port/script', '10.0.0.1', '[::1]:80'; nothing if it is none of them.
std::optional<Member> member_of(std::string_view text, std::size_t line);
// 1 to 65535.
bool is_port(std::string_view text);
bool is_number(std::string_view text);

struct Members {
  std::vector<Member> list;
  std::vector<Remark> doubts;  // of items that are none
};
// Of the array, hash or list in a string: [host, host], [host, port, host, port], [{host => .., port => ..}],
// {host => port}, {host => address}. `wants_weights`: small numbers are weights, not ports.
Members members_of(const Value& value, std::string_view name);

}  // namespace balance::perl
