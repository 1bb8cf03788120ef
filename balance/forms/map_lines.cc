// SPDX-License-Identifier: MIT
#include "balance/forms/map_lines.h"

#include <algorithm>

#include "loadprobe/base/text.h"

namespace balance::forms {
namespace {

constexpr auto kNowhere = std::string_view::npos;

struct Token {
  std::size_t line = 0;
  std::string text;  // without quotes
  bool quoted = false;
};

// Words and strings of a mapfile; '#' and '/* */' are comments, a backslash keeps the next byte of a string.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  bool next(Token& token) {
    skip_blanks();
    if (text_.empty()) return false;
    token = Token{line_, "", false};
    const char c = text_.front();
    token.quoted = c == '"' || c == '\'';
    if (token.quoted) {
      read_string(c, token.text);
    } else {
      const auto end = std::min(text_.find_first_of(" \t\r\n\"'#"), text_.size());
      token.text = text_.substr(0, std::max<std::size_t>(end, 1));
      take(token.text.size());
    }
    return true;
  }

 private:
  void take(std::size_t bytes) {
    const auto taken = text_.substr(0, bytes);
    line_ += static_cast<std::size_t>(std::count(taken.begin(), taken.end(), '\n'));
    text_.remove_prefix(taken.size());
  }
  void skip_blanks() {
    while (!text_.empty()) {
      const auto blanks = text_.find_first_not_of(" \t\r\n\f");
      if (blanks > 0) {
        take(std::min(blanks, text_.size()));
      } else if (text_.front() == '#') {
        take(std::min(text_.find('\n'), text_.size()));
      } else if (text_.starts_with("/*")) {
        const auto close = text_.find("*/", 2);
        take(close == kNowhere ? text_.size() : close + 2);
      } else {
        return;
      }
    }
  }
  void read_string(char quote, std::string& text) {
    std::size_t at = 1;
    while (at < text_.size() && text_[at] != quote) {
      if (text_[at] == '\\' && at + 1 < text_.size()) ++at;
      text += text_[at++];
    }
    take(at + 1);
  }

  std::string_view text_;
  std::size_t line_ = 1;
};

// The word that says what this token's next one is: its own text in lower case.
std::string what_passes(std::string_view key, std::string_view value, const Rules& rules) {
  const auto head = value.substr(0, value.find_first_of("?#"));
  if (comes_back(head, rules)) return "";
  const auto kind = read_head(head).kind;
  const bool absolute = kind == Head::Kind::absolute;
  if (key == "imageurl") {
    return absolute ? "every client fetches its pictures from there, whichever host drew them"
                    : "a picture is fetched from the host that served the page; where pages are relayed, map this "
                      "path to balance too";
  }
  if (key == "template") {
    const bool names_script = script_length(head, rules.scripts).has_value();
    return absolute || names_script ? "mapserv sends clients there" : "";
  }
  return "clients go on to that URL, wanted " + rules.to;
}

}  // namespace

Plan plan_map(std::string_view mapfile, const Rules& rules) {
  Plan plan;
  Tokens tokens(mapfile);
  Token token;
  std::string key;
  std::size_t line = 0;
  while (tokens.next(token)) {
    if (!key.empty()) {
      const auto why = what_passes(key, token.text, rules);
      if (!why.empty()) {
        plan.remarks.push_back(
            Remark{line, Weight::note, base::escaped(key, 40) + " '" + base::escaped(token.text, 100) + "': " + why});
      }
      key.clear();
      continue;
    }
    auto word = base::lower(token.text);
    const bool is_keyword = !token.quoted && (word == "imageurl" || word == "template");
    if (!is_keyword && !word.ends_with("_onlineresource")) continue;
    key = std::move(word);
    line = token.line;
  }
  return plan;
}

}  // namespace balance::forms
