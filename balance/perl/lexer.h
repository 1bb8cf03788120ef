// SPDX-License-Identifier: MIT
// How tokens_of() reads. For tokens.cc and quotes.cc alone. Floor 1: over text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/perl/tokens.h"

namespace balance::perl {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_name(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

// Where a here-document begins with the next line.
struct Pending {
  std::size_t token = 0;
  std::string end;
};

// Goes over the text once, token by token.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Tokens run();

 private:
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool done() const { return here_ >= text_.size() || !out_.fault.empty(); }
  bool starts(std::string_view what) const { return text_.substr(here_, what.size()) == what; }

  void next();
  void line_end();
  void skip_pod();
  void take_comment();
  void take_variable();
  void take_word();
  bool is_end_marker(std::string_view word);
  void take_number();
  void take_mark();

  // In quotes.cc.
  // The text up to the mark that closes `open`, which stands at `here_`; nested brackets count.
  std::optional<std::string> delimited(char open);
  // The lines of a here-document that was begun in the line before.
  void take_document(const Pending& pending);
  // '<<END' and what is like it. False: it is an operator.
  bool take_here_document();
  // q, qq, qw, qx, m, qr, s, tr, y and what they quote. False: it is a word like any other.
  bool take_quote(std::string_view word);
  bool is_quote(std::string_view word) const;
  std::optional<std::string> replacement(char open);
  void skip_blanks();

  bool wants_operand() const;
  bool is_variable_start() const;
  Token& add(Kind kind, std::string text) {
    out_.list.push_back(Token{kind, std::move(text), {}, {}, line_});
    return out_.list.back();
  }

  std::string_view text_;
  std::size_t here_ = 0;
  std::size_t line_ = 1;
  bool line_begins_ = true;
  std::vector<Pending> pending_;
  Tokens out_;
};

}  // namespace balance::perl
