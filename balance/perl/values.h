// SPDX-License-Identifier: MIT
// What Perl's literals are worth, as far as that can be said without running the script.
// Floor 1: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace balance::perl {

// No list and no string grows beyond this: what is larger is no pool but somebody's joke.
constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostPieces = 100;
constexpr std::size_t kMostBytes = 4096;

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
Value unknown_value(std::size_t line);
Value text_value(std::string_view text, std::size_t line);
// A piece of a script in a remark: one line, whatever is in it.
std::string as_text(std::string_view text);

// Puts more at the end of a scalar, up to the limits.
void add_text(Value& value, std::string_view text);
void add_variable(Value& value, std::string name);
void add_pieces(Value& value, const Value& more);

// Lists within lists are one list, as in Perl; references ([..], {..}) stay whole.
void append(std::vector<Value>& to, Value item);

// What split() makes of a text, whatever it separates by: host names have no blanks, commas, ';' or '|' in them.
Value split_value(const Value& text, std::size_t line);
// What sprintf() makes of a list: each %s takes the next item.
Value formatted_value(const Value& arguments);

}  // namespace balance::perl
