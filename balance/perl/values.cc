// SPDX-License-Identifier: MIT
#include "balance/perl/values.h"

#include <utility>

#include "loadprobe/base/text.h"

namespace balance::perl {
using Shape = Value::Shape;

std::optional<std::string> Value::text() const {
  if (shape != Shape::scalar) return std::nullopt;
  std::string found;
  for (const Piece& piece : pieces) {
    if (piece.is_variable) return std::nullopt;
    found += piece.text;
  }
  return found;
}

std::string as_text(std::string_view text) {
  constexpr std::size_t kMost = 200;
  return base::printable(text, kMost);
}

Value unknown_value(std::size_t line) { return Value{Shape::unknown, {}, {}, line}; }

Value text_value(std::string_view text, std::size_t line) {
  Value value{Shape::scalar, {}, {}, line};
  add_text(value, text);
  return value;
}

void add_text(Value& value, std::string_view text) {
  std::size_t bytes = 0;
  for (const Piece& piece : value.pieces) bytes += piece.text.size();
  if (text.empty() || bytes >= kMostBytes || value.pieces.size() >= kMostPieces) return;
  if (value.pieces.empty() || value.pieces.back().is_variable) value.pieces.push_back(Piece{});
  value.pieces.back().text += text.substr(0, kMostBytes - bytes);
}

void add_variable(Value& value, std::string name) {
  if (value.pieces.size() < kMostPieces) value.pieces.push_back(Piece{std::move(name), true});
}

void add_pieces(Value& value, const Value& more) {
  for (const Piece& piece : more.pieces) {
    if (piece.is_variable) {
      add_variable(value, piece.text);
    } else {
      add_text(value, piece.text);
    }
  }
}

void append(std::vector<Value>& to, Value item) {
  if (item.shape != Shape::list) {
    to.push_back(std::move(item));
    return;
  }
  for (Value& one : item.items) to.push_back(std::move(one));
}

Value split_value(const Value& text, std::size_t line) {
  const std::optional<std::string> all_text = text.text();
  if (!all_text) return unknown_value(line);
  Value all{Shape::list, {}, {}, line};
  std::string spaced = *all_text;
  for (char& c : spaced) {
    if (c == ',' || c == ';' || c == '|' || c == '\n' || c == '\t') c = ' ';
  }
  for (const std::string_view word : base::words(spaced)) all.items.push_back(text_value(word, line));
  return all;
}

Value formatted_value(const Value& arguments) {
  if (arguments.items.empty() || arguments.items.front().shape != Shape::scalar) return unknown_value(arguments.line);
  Value made{Shape::scalar, {}, {}, arguments.items.front().line};
  std::size_t next = 1;
  for (const Piece& piece : arguments.items.front().pieces) {
    if (piece.is_variable) add_variable(made, piece.text);
    for (std::size_t i = 0; !piece.is_variable && i < piece.text.size(); ++i) {
      const bool takes = piece.text[i] == '%' && i + 1 < piece.text.size();
      if (takes && (piece.text[i + 1] == 's' || piece.text[i + 1] == 'd')) {
        ++i;
        if (next < arguments.items.size() && arguments.items[next].shape == Shape::scalar) {
          add_pieces(made, arguments.items[next]);
        } else {
          add_variable(made, "$");
        }
        ++next;
      } else {
        add_text(made, piece.text.substr(i, 1));
      }
    }
  }
  return made;
}

}  // namespace balance::perl
