// SPDX-License-Identifier: MIT
#include "balance/perl/tokens.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_letter(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

char closing(char open) {
  constexpr std::string_view kOpen = "([{<";
  constexpr std::string_view kClose = ")]}>";
  const std::size_t at = kOpen.find(open);
  return at == std::string_view::npos ? open : kClose[at];
}

// Where a here-document begins with the next line.
struct Pending {
  std::size_t token = 0;
  std::string end;
};

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
  void take_document(const Pending& pending);
  bool take_here_document();
  void take_comment();
  void take_variable();
  void take_word();
  bool take_quote(std::string_view word);
  bool is_end_marker(std::string_view word);
  void take_number();
  void take_mark();
  std::optional<std::string> delimited(char open);
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

// The text up to the mark that closes `open`, which stands at `here_`; nested brackets count.
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

// q, qq, qw, qx, m, qr, s, tr, y and what they quote. False: it is a word like any other.
bool Lexer::take_quote(std::string_view word) {
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
  if (open == '#' && i != here_) return false;
  line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(here_),
                                               text_.begin() + static_cast<std::ptrdiff_t>(i), '\n'));
  here_ = i;
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
    if (closing(open) != open) {
      while (is_blank(at(here_))) {
        if (at(here_) == '\n') ++line_;
        ++here_;
      }
    } else {
      --here_;  // the second part begins with the mark that ended the first
    }
    std::optional<std::string> other = here_ < text_.size() ? delimited(text_[here_]) : std::string();
    if (!other) return true;
    token.other = *std::move(other);
  }
  if (token.kind == Kind::pattern) {
    while (is_letter(at(here_))) ++here_;  // its flags
  }
  out_.list.push_back(std::move(token));
  return true;
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

}  // namespace

Tokens tokens_of(std::string_view text) { return Lexer(text).run(); }

}  // namespace balance::perl
