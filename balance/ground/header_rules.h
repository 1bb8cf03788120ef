// SPDX-License-Identifier: MIT
// What HTTP says of the headers that a relay passes on (RFC 9110 5.5, 5.6.2, 7.6.1).
// Floor 1: pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace balance {

bool is_token_char(char c);
bool is_token(std::string_view text);  // not empty

// A value that stands on one line: no control character but the tab.
bool is_header_value(std::string_view value);

// Of one connection alone: 'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'proxy-*'.
// `name` in lower case.
bool is_hop_by_hop(std::string_view name);

// The names in a Connection header, in lower case.
std::vector<std::string> names_in(std::string_view connection);

}  // namespace balance
