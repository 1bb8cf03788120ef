// SPDX-License-Identifier: MIT
// What a Perl script says by literals: which variables have which value, which URLs it makes, what it asks rup.
// Floor 1: pure functions over text.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "balance/perl/expressions.h"
#include "balance/perl/tokens.h"

namespace balance::perl {

struct Assignment {
  std::string name;  // with its sign; of a loop over a literal list: '@' and the loop's variable
  std::size_t line = 0;
  std::size_t last_line = 0;
  bool is_nested = false;  // in a block: perhaps only now and then
};

struct Rup {
  std::string command;
  std::size_t line = 0;
};

struct Script {
  Tokens tokens;
  Known known;                          // after the last statement
  std::vector<Assignment> assignments;  // in order; those to one piece of a hash or an array too
  std::set<std::string, std::less<>> volatile_names;
  std::vector<Value> urls;           // every string with '://' in it
  std::vector<Token> substitutions;  // s/../../
  std::vector<Rup> rups;
  std::vector<Token> files;  // that it reads as more of itself
};

Script script_of(std::string_view text);

}  // namespace balance::perl
