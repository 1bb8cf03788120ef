// SPDX-License-Identifier: MIT
// What Perl quotes: strings, patterns and here-documents. Floor 1: over text.
#include <algorithm>
#include <array>

#include "balance/perl/lexer.h"
#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

char closing(char open) {
  constexpr std::string_view kOpen = "([{<";
  constexpr std::string_view kClose = ")]}>";
  const std::size_t at = kOpen.find(open);
  return at == std::string_view::npos ? open : kClose[at];
}

}  // namespace

std::optional<std::string> Lexer::delimited(char open) {
  const std::size_t line = line_;
  const char close = closing(open);
  std::string found;
  std::size_t depth = 0;
  for (++here_; here_ < text_.size(); ++here_) {
    const char c = text_[here_];
    if (c == '\n') ++line_;
    if (c == '\\' && here_ + 1 < text_.size()) {
      found += c;
      found += text_[++here_];
      if (text_[here_] == '\n') ++line_;
    } else if (c == close && depth == 0) {
      ++here_;
      return found;
    } else {
      if (close != open && c == open) ++depth;
      if (close != open && c == close) --depth;
      found += c;
    }
  }
  out_.fault = std::string("'") + open + "' has no end; wanted '" + close + "'";
  out_.fault_line = line;
  return std::nullopt;
}

void Lexer::take_document(const Pending& pending) {
  std::string body;
  while (here_ < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', here_), text_.size());
    const std::string_view line = text_.substr(here_, end - here_);
    here_ = std::min(end + 1, text_.size());
    ++line_;
    if (base::trim(line) == pending.end) {
      out_.list[pending.token].text = std::move(body);
      return;
    }
    body.append(line).append("\n");
  }
  out_.fault = "a here-document has no end; wanted a line '" + pending.end + "'";
  out_.fault_line = out_.list[pending.token].line;
}

bool Lexer::take_here_document() {
  std::size_t i = here_ + 2;
  if (at(i) == '~') ++i;
  const char quote = at(i) == '"' || at(i) == '\'' ? at(i) : '\0';
  if (quote == '\0' && !is_letter(at(i))) return false;
  if (quote != '\0') ++i;
  const std::size_t begin = i;
  while (i < text_.size() && text_[i] != '\n' && (quote != '\0' ? text_[i] != quote : is_name(text_[i]))) ++i;
  if (quote != '\0' && at(i) != quote) return false;
  std::string end(text_.substr(begin, i - begin));
  add(quote == '\'' ? Kind::text : Kind::mixed, "");
  pending_.push_back(Pending{out_.list.size() - 1, std::move(end)});
  here_ = i + (quote != '\0' ? 1 : 0);
  return true;
}

// Whether the word quotes what stands behind it.
bool Lexer::is_quote(std::string_view word) const {
  constexpr std::array<std::string_view, 9> kQuotes{"q", "qq", "qw", "qx", "m", "qr", "s", "tr", "y"};
  if (std::find(kQuotes.begin(), kQuotes.end(), word) == kQuotes.end()) return false;
  if (!out_.list.empty() && (out_.list.back().text == "->" || out_.list.back().text == "{")) {
    if (out_.list.back().text == "->" || at(here_) == '}') return false;
  }
  std::size_t i = here_;
  while (is_blank(at(i))) ++i;
  const char open = at(i);
  const bool is_key = open == '=' && (at(i + 1) == '>' || i != here_);
  constexpr std::string_view kNever = ",;)";
  if (open == '\0' || is_name(open) || is_key || kNever.find(open) != std::string_view::npos) return false;
  return open != '#' || i == here_;
}

// The second part of s///, tr/// and y///, whose first one began with `open`.
std::optional<std::string> Lexer::replacement(char open) {
  if (closing(open) != open) {
    skip_blanks();
  } else {
    --here_;  // it begins with the mark that ended the first
  }
  return here_ < text_.size() ? delimited(text_[here_]) : std::string();
}

bool Lexer::take_quote(std::string_view word) {
  if (!is_quote(word)) return false;
  skip_blanks();
  const char open = at(here_);
  const std::size_t line = line_;
  std::optional<std::string> body = delimited(open);
  if (!body) return true;
  Token token{Kind::pattern, *std::move(body), {}, {}, line};
  if (word == "q") token.kind = Kind::text;
  if (word == "qq") token.kind = Kind::mixed;
  if (word == "qx") token.kind = Kind::command;
  if (word == "qw") {
    token.kind = Kind::words;
    std::replace_if(token.text.begin(), token.text.end(), is_blank, ' ');
    for (const std::string_view one : base::words(token.text)) token.words.emplace_back(one);
  }
  if (word == "s" || word == "tr" || word == "y") {
    std::optional<std::string> other = replacement(open);
    if (!other) return true;
    token.other = *std::move(other);
  }
  if (token.kind == Kind::pattern) {
    while (is_letter(at(here_))) ++here_;  // its flags
  }
  out_.list.push_back(std::move(token));
  return true;
}

void Lexer::skip_blanks() {
  for (; is_blank(at(here_)); ++here_) {
    if (at(here_) == '\n') ++line_;
  }
}

}  // namespace balance::perl
