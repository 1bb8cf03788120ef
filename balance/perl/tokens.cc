// SPDX-License-Identifier: MIT
#include "balance/perl/tokens.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "balance/perl/lexer.h"
#include "loadprobe/base/text.h"

namespace balance::perl {

// Whether a value may come next: then '/' begins a pattern and '%' a hash.
bool Lexer::wants_operand() const {
  if (out_.list.empty()) return true;
  const Token& last = out_.list.back();
  if (last.kind == Kind::word) return true;
  return last.kind == Kind::mark && last.text != ")" && last.text != "]" && last.text != "}";
}

bool Lexer::is_variable_start() const {
  const char c = at(here_);
  const char after = at(here_ + 1);
  if (c == '$') return true;
  const bool may_name = is_letter(after) || after == '{' || after == '$' || after == ':';
  if (c == '@') return may_name;
  const bool begins_statement = !out_.list.empty() && out_.list.back().text == "}";
  return c == '%' && may_name && (wants_operand() || (begins_statement && is_letter(after)));
}

void Lexer::line_end() {
  ++here_;
  ++line_;
  line_begins_ = true;
  for (const Pending& pending : std::exchange(pending_, {})) {
    if (out_.fault.empty()) take_document(pending);
  }
}

void Lexer::skip_pod() {
  while (here_ < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', here_), text_.size());
    const bool is_last = text_.substr(here_, 4) == "=cut";
    here_ = std::min(end + 1, text_.size());
    ++line_;
    if (is_last) break;
  }
  line_begins_ = true;
}

void Lexer::take_comment() {
  const std::size_t end = std::min(text_.find('\n', here_), text_.size());
  out_.comments.push_back(
      Token{Kind::comment, std::string(base::trim(text_.substr(here_ + 1, end - here_ - 1))), {}, {}, line_});
  here_ = end;
}

void Lexer::take_variable() {
  std::string name(1, text_[here_++]);
  if (name == "$" && at(here_) == '#' && (is_letter(at(here_ + 1)) || at(here_ + 1) == '{' || at(here_ + 1) == '$')) {
    name += text_[here_++];
  }
  const bool in_braces = at(here_) == '{' && is_letter(at(here_ + 1));
  std::size_t i = here_ + (in_braces ? 1 : 0);
  const std::size_t begin = i;
  while (is_name(at(i)) || (at(i) == ':' && at(i + 1) == ':' && is_name(at(i + 2))) ||
         (at(i) == ':' && at(i - 1) == ':')) {
    ++i;
  }
  std::string_view rest = text_.substr(std::min(begin, text_.size()), i - begin);
  if (in_braces && at(i) != '}') rest = "";
  if (rest.empty()) {
    // ${...}, @{...}, $$x: the sign alone, and what follows by itself; else one of Perl's own, as '$_' or '$|'.
    if (at(here_) != '{' && at(here_) != '$' && here_ < text_.size() && !is_blank(at(here_))) name += text_[here_++];
    add(Kind::variable, std::move(name));
    return;
  }
  if (rest.substr(0, 6) == "main::") rest.remove_prefix(6);
  here_ = i + (in_braces ? 1 : 0);
  add(Kind::variable, name + std::string(rest));
}

bool Lexer::is_end_marker(std::string_view word) {
  if (word != "__END__" && word != "__DATA__") return false;
  out_.end_line = line_;
  here_ = text_.size();
  return true;
}

void Lexer::take_word() {
  const std::size_t begin = here_;
  while (is_name(at(here_)) || (at(here_) == ':' && at(here_ + 1) == ':' && is_name(at(here_ + 2))) ||
         (at(here_) == ':' && here_ > begin && at(here_ - 1) == ':')) {
    ++here_;
  }
  const std::string_view word = text_.substr(begin, here_ - begin);
  if (take_quote(word) || is_end_marker(word)) return;
  add(Kind::word, std::string(word));
}

void Lexer::take_number() {
  std::string number;
  while (is_name(at(here_)) || (at(here_) == '.' && is_digit(at(here_ + 1)))) {
    if (at(here_) != '_') number += at(here_);
    ++here_;
  }
  add(Kind::number, std::move(number));
}

void Lexer::take_mark() {
  constexpr std::array<std::string_view, 24> kMarks{
      "**=", "<=>", "||=", "&&=", "//=", "=>", "->", "++", "--", "==", "!=", "=~",
      "!~",  ".=",  "+=",  "-=",  "*=",  "/=", "x=", "||", "&&", "..", "<=", ">="};
  for (const std::string_view mark : kMarks) {
    if (!starts(mark)) continue;
    here_ += mark.size();
    add(Kind::mark, std::string(mark));
    return;
  }
  add(Kind::mark, std::string(1, text_[here_]));
  ++here_;
}

void Lexer::next() {
  const char c = at(here_);
  const bool begins = std::exchange(line_begins_, false);
  if (c == '\n') return line_end();
  if (is_blank(c)) {
    line_begins_ = begins && c == '\r';
    ++here_;
    return;
  }
  if (begins && c == '=' && is_letter(at(here_ + 1)) && wants_operand()) return skip_pod();
  if (c == '#') return take_comment();
  if (is_variable_start()) return take_variable();
  if (is_letter(c)) return take_word();
  if (is_digit(c)) return take_number();
  if (c == '<' && at(here_ + 1) == '<' && wants_operand() && take_here_document()) return;
  const bool begins_pattern = c == '/' && wants_operand();
  if (c == '"' || c == '\'' || c == '`' || begins_pattern) {
    const std::size_t line = line_;
    std::optional<std::string> body = delimited(c);
    if (!body) return;
    const Kind kind = c == '"' ? Kind::mixed : c == '\'' ? Kind::text : c == '`' ? Kind::command : Kind::pattern;
    out_.list.push_back(Token{kind, *std::move(body), {}, {}, line});
    return;
  }
  take_mark();
}

Tokens Lexer::run() {
  while (!done()) next();
  return std::move(out_);
}

Tokens tokens_of(std::string_view text) { return Lexer(text).run(); }

}  // namespace balance::perl
