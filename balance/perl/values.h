// SPDX-License-Identifier: MIT
// What Perl's literals are worth: strings with the variables in them that are known, lists, hashes. No operator but '.'
// and 'x' is understood, no function but those that make lists of literals.
// Floor 1: pure functions over tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "balance/perl/tokens.h"

namespace balance::perl {

struct Piece {
  std::string text;          // itself, or the variable's name with its sign
  bool is_variable = false;  // known only when the script runs
};

struct Value {
  enum class Shape : std::uint8_t { unknown, scalar, list, hash } shape = Shape::unknown;
  std::vector<Piece> pieces;  // of a scalar
  std::vector<Value> items;   // of a list; of a hash key, value, key, value
  std::size_t line = 0;

  // A scalar that is known now.
  std::optional<std::string> text() const;
};
Value text_value(std::string_view text, std::size_t line);
// A piece of a script in a remark: one line, whatever is in it.
std::string as_text(std::string_view text);

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
  Value list(std::size_t& at, std::string_view close, int depth) const;
  void skip_item(std::size_t& at) const;
  Value call(std::size_t& at, int depth) const;
  Value variable(std::size_t& at, int depth) const;
  Value formatted(const Value& arguments) const;
  Value split(const Token& pattern, const Value& text) const;
  bool is(std::size_t at, std::string_view mark) const;

  const std::vector<Token>& tokens_;
  const Known& known_;
  const std::set<std::string, std::less<>>& volatile_;
};

// No list and no string grows beyond this: what is larger is no pool but somebody's joke.
constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostPieces = 100;
constexpr std::size_t kMostBytes = 4096;

// Lists within lists are one list, as in Perl; references ([..], {..}) stay whole.
void append(std::vector<Value>& to, Value item);

}  // namespace balance::perl
