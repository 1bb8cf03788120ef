// SPDX-License-Identifier: MIT
// Perl's expressions, as far as they are literals: strings with the variables in them that are known, lists, hashes. No
// operator but '.' and 'x' is understood, no function but those that make lists of literals.
// Floor 1: pure functions over tokens.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "balance/perl/tokens.h"
#include "balance/perl/values.h"

namespace balance::perl {

// Values of variables by name with sign ('$domain', '@pool', '%ports', constants by their bare name).
using Known = std::map<std::string, Value, std::less<>>;

// Reads expressions out of a list of tokens.
class Reader {
 public:
  // REQUIRES: both outlive it. `volatile_names`: variables that change while the script runs: never put in.
  Reader(const std::vector<Token>& tokens, const Known& known, const std::set<std::string, std::less<>>& volatile_names)
      : tokens_(tokens), known_(known), volatile_(volatile_names) {}

  // The value at `at`, which is moved behind it: 'a', 'a . b', (a, b), [..], {..}, qw(..). Shape unknown where it is no
  // such thing; `at` then is where that was found out.
  Value value(std::size_t& at) const { return joined(at, 0); }
  // A comma list up to the mark `close` ("": up to ';' or the end of the statement), which is passed over.
  Value list(std::size_t& at, std::string_view close) const { return list(at, close, 0); }
  // A string with the variables and escapes of "..." in it.
  Value mixed(std::string_view text, std::size_t line) const;

 private:
  Value joined(std::size_t& at, int depth) const;
  Value single(std::size_t& at, int depth) const;
  Value marked(std::size_t& at, int depth) const;
  Value list(std::size_t& at, std::string_view close, int depth) const;
  void skip_item(std::size_t& at) const;
  Value call(std::size_t& at, int depth) const;
  Value variable(std::size_t& at, int depth) const;
  bool is(std::size_t at, std::string_view mark) const;

  const std::vector<Token>& tokens_;
  const Known& known_;
  const std::set<std::string, std::less<>>& volatile_;
};

}  // namespace balance::perl
