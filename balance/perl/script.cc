// SPDX-License-Identifier: MIT
#include "balance/perl/script.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

using Shape = Value::Shape;

class Statements {
 public:
  explicit Statements(Script& script) : script_(script), tokens_(script.tokens.list) {}
  void run();

 private:
  bool is(std::size_t at, std::string_view mark) const {
    return at < tokens_.size() && tokens_[at].kind == Kind::mark && tokens_[at].text == mark;
  }
  bool is_word(std::size_t at, std::string_view word) const {
    return at < tokens_.size() && tokens_[at].kind == Kind::word && tokens_[at].text == word;
  }
  bool is_variable(std::size_t at) const { return at < tokens_.size() && tokens_[at].kind == Kind::variable; }
  Reader reader() const { return {tokens_, script_.known, script_.volatile_names}; }

  void find_blocks();
  void find_volatile();
  void take_statement(std::size_t at);
  void take_constant(std::size_t at);
  void take_element(std::size_t at);
  void take_push(std::size_t at);
  std::vector<std::string> several_at(std::size_t at) const;
  void take_several(std::size_t at);
  void take_loop(std::size_t at);
  void note(const std::string& name, std::size_t at, std::size_t end);
  void assign(const std::string& name, Value value, std::size_t at, std::size_t end);
  Value& whole(const std::string& name, Value::Shape shape, std::size_t line);
  Value right_side(const std::string& name, std::size_t& at) const;
  void find_urls();
  void find_rups();

  Script& script_;
  const std::vector<Token>& tokens_;
  std::vector<bool> nested_;  // by token: inside a block
};

// Braces that open a block, as those of subscripts and hashes do not.
void Statements::find_blocks() {
  std::vector<bool> open;
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (is(i, "{")) {
      const bool is_block = i == 0 || is(i - 1, ")") || is(i - 1, ";") || is(i - 1, "}") || is(i - 1, "{") ||
                            (tokens_[i - 1].kind == Kind::word && !is_word(i - 1, "constant"));
      open.push_back(is_block);
      if (is_block) ++blocks;
    } else if (is(i, "}") && !open.empty()) {
      if (open.back()) --blocks;
      open.pop_back();
    }
    nested_.push_back(blocks > 0);
  }
}

void Statements::find_volatile() {
  constexpr std::array<std::string_view, 9> kChanges{".=", "+=", "-=", "*=", "/=", "||=", "&&=", "++", "--"};
  std::map<std::string, std::size_t, std::less<>> times;
  std::set<std::string, std::less<>> in_blocks;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    for (const std::string& name : is(i, "(") ? several_at(i) : std::vector<std::string>{}) {
      ++times[name];
      if (nested_[i]) in_blocks.insert(name);
    }
    if (!is_variable(i) || tokens_[i].text.front() != '$') continue;
    const std::string& name = tokens_[i].text;
    const bool is_looped =
        i > 0 && (is_word(i - 1, "foreach") || is_word(i - 1, "for") ||
                  (i > 1 && is_word(i - 1, "my") && (is_word(i - 2, "foreach") || is_word(i - 2, "for"))));
    const bool is_stepped = i > 0 && (is(i - 1, "++") || is(i - 1, "--"));
    const bool is_changed = i + 1 < tokens_.size() && tokens_[i + 1].kind == Kind::mark &&
                            std::find(kChanges.begin(), kChanges.end(), tokens_[i + 1].text) != kChanges.end();
    const bool is_edited = is(i + 1, "=~") && i + 2 < tokens_.size() && tokens_[i + 2].kind == Kind::pattern &&
                           !tokens_[i + 2].other.empty();
    if (is_looped || is_stepped || is_changed || is_edited) script_.volatile_names.insert(name);
    if (!is(i + 1, "=")) continue;
    ++times[name];
    if (nested_[i]) in_blocks.insert(name);
  }
  for (const std::string& name : in_blocks) {
    if (times[name] > 1) script_.volatile_names.insert(name);
  }
}

void Statements::note(const std::string& name, std::size_t at, std::size_t end) {
  const std::size_t last = std::min(end, tokens_.size()) - 1;
  script_.assignments.push_back(Assignment{name, tokens_[at].line, tokens_[last].line, nested_[at]});
}

void Statements::assign(const std::string& name, Value value, std::size_t at, std::size_t end) {
  // Of an assignment in a block nobody knows whether it is made: one outside comes first.
  if (!nested_[at] || !script_.known.contains(name)) script_.known[name] = std::move(value);
  note(name, at, end);
}

// The array or hash that an assignment adds to.
Value& Statements::whole(const std::string& name, Shape shape, std::size_t line) {
  Value& value = script_.known[name];
  value.shape = shape;
  value.line = line;
  return value;
}

// What stands behind '='. Of 'a || b' it is b where a is only known at run time.
Value Statements::right_side(const std::string& name, std::size_t& at) const {
  const std::size_t line = tokens_[at - 1].line;
  if (name.front() != '$') {
    Value value = reader().list(at, "");
    const bool is_hash = name.front() == '%';
    if (value.shape == Shape::list && is_hash) value.shape = Shape::hash;
    value.line = line;
    return value;
  }
  Value value = reader().value(at);
  if (is(at, "||") || is_word(at, "or")) {
    const std::size_t fallback = at + 1;
    at = fallback;
    Value other = reader().value(at);
    if (!value.text() && other.text()) value = std::move(other);
  }
  const bool ends = at >= tokens_.size() || is(at, ";") || is(at, "}") || is(at, ")") || is(at, ",") ||
                    is_word(at, "if") || is_word(at, "unless");
  if (!ends) value = Value{Shape::unknown, {}, {}, line};
  value.line = line;
  return value;
}

void Statements::take_constant(std::size_t at) {
  std::size_t end = at + 2;
  if (is(end, "{")) {
    const Value all = reader().list(++end, "}");
    for (std::size_t i = 0; i + 1 < all.items.size(); i += 2) {
      if (const auto name = all.items[i].text()) assign(*name, all.items[i + 1], at, end);
    }
    return;
  }
  const Value all = reader().list(end, "");
  if (all.items.empty()) return;
  const std::optional<std::string> name = all.items.front().text();
  if (!name) return;
  Value value{Shape::list, {}, {all.items.begin() + 1, all.items.end()}, tokens_[at].line};
  if (value.items.size() == 1) value = Value(value.items.front());
  value.line = tokens_[at].line;
  assign(*name, std::move(value), at, end);
}

// $ports{darwin} = 8080; $pool[2] = 'darwin';
void Statements::take_element(std::size_t at) {
  const bool is_hash = is(at + 1, "{");
  if (!is(at + 3, is_hash ? "}" : "]") || !is(at + 4, "=")) return;
  const Token& token = tokens_[at + 2];
  if (token.kind == Kind::variable || token.kind == Kind::mark) return;
  const Value key = reader().mixed(token.text, token.line);
  std::size_t end = at + 5;
  const Value value = right_side("$", end);
  const std::string name = (is_hash ? "%" : "@") + tokens_[at].text.substr(1);
  Value& all = whole(name, is_hash ? Shape::hash : Shape::list, tokens_[at].line);
  if (all.items.size() < kMostItems) {
    if (is_hash) all.items.push_back(key);
    all.items.push_back(value);
  }
  note(name, at, end);
}

void Statements::take_push(std::size_t at) {
  const bool in_brackets = is(at + 1, "(");
  const std::size_t place = at + (in_brackets ? 2 : 1);
  if (!is_variable(place) || tokens_[place].text.front() != '@' || !is(place + 1, ",")) return;
  std::size_t end = place + 2;
  const Value more = reader().list(end, in_brackets ? ")" : "");
  const std::string& name = tokens_[place].text;
  Value& all = whole(name, Shape::list, tokens_[at].line);
  if (more.shape == Shape::unknown) all.items.push_back(more);
  for (const Value& item : more.items) {
    if (all.items.size() < kMostItems) append(all.items, item);
  }
  note(name, at, end);
}

// The variables of '(.., ..) =' at a bracket; none where it is no such thing.
std::vector<std::string> Statements::several_at(std::size_t at) const {
  std::vector<std::string> names;
  std::size_t i = at + 1;
  for (; is_variable(i) || is(i, ","); ++i) {
    if (is_variable(i)) names.push_back(tokens_[i].text);
  }
  return is(i, ")") && is(i + 1, "=") ? names : std::vector<std::string>{};
}

// my ($domain, $port) = ('example.org', 80);
void Statements::take_several(std::size_t at) {
  const std::vector<std::string> names = several_at(at);
  if (names.empty()) return;
  std::size_t end = at;
  while (!is(end, "=")) ++end;
  if (is_variable(++end)) return;
  const Value all = reader().list(end, "");
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (names[n].front() != '$') {
      Value rest{names[n].front() == '%' ? Shape::hash : Shape::list, {}, {}, tokens_[at].line};
      for (std::size_t k = n; k < all.items.size(); ++k) rest.items.push_back(all.items[k]);
      assign(names[n], std::move(rest), at, end);
      return;
    }
    if (n < all.items.size()) assign(names[n], all.items[n], at, end);
  }
}

void Statements::take_loop(std::size_t at) {
  const std::size_t variable = at + (is_word(at + 1, "my") ? 2 : 1);
  if (!is_variable(variable) ||
      !(is(variable + 1, "(") || tokens_[std::min(variable + 1, tokens_.size() - 1)].kind == Kind::words)) {
    return;
  }
  std::size_t end = variable + 1;
  Value all = reader().value(end);
  const bool is_literal =
      all.shape == Shape::list && !all.items.empty() && !is_variable(variable + 2) &&
      std::all_of(all.items.begin(), all.items.end(), [](const Value& item) { return item.text(); });
  if (is_literal) assign("@" + tokens_[variable].text.substr(1), std::move(all), at, end);
}

void Statements::take_statement(std::size_t at) {
  const Token& token = tokens_[at];
  if (token.kind == Kind::word) {
    if (token.text == "use" && is_word(at + 1, "constant")) take_constant(at);
    if (token.text == "push" || token.text == "unshift") take_push(at);
    const bool reads_file = (token.text == "require" || token.text == "do") && at + 1 < tokens_.size() &&
                            (tokens_[at + 1].kind == Kind::text || tokens_[at + 1].kind == Kind::mixed);
    if (reads_file) script_.files.push_back(tokens_[at + 1]);
    if (token.text == "foreach" || token.text == "for") take_loop(at);
    return;
  }
  if (is(at, "(") && (at == 0 || tokens_[at - 1].kind != Kind::variable)) return take_several(at);
  if (token.kind != Kind::variable) return;
  const bool is_element = token.text.front() == '$' && (is(at + 1, "{") || is(at + 1, "["));
  if (is_element) return take_element(at);
  if (!is(at + 1, "=")) return;
  std::size_t end = at + 2;
  Value value = right_side(token.text, end);
  assign(token.text, std::move(value), at, end);
}

void Statements::find_urls() {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Kind kind = tokens_[i].kind;
    const bool begins = kind == Kind::text || kind == Kind::mixed || is_word(i, "printf") || is_word(i, "sprintf") ||
                        (kind == Kind::variable && is(i + 1, "."));
    if (!begins || (i > 0 && is(i - 1, "."))) continue;
    std::size_t end = i;
    Value value = reader().value(end);
    const bool names_one = std::any_of(value.pieces.begin(), value.pieces.end(), [](const Piece& piece) {
      return !piece.is_variable && piece.text.find("://") != std::string::npos;
    });
    if (names_one) script_.urls.push_back(std::move(value));
  }
  for (const Token& token : tokens_) {
    if (token.kind == Kind::pattern && !token.other.empty()) script_.substitutions.push_back(token);
  }
}

void Statements::find_rups() {
  for (const Token& token : tokens_) {
    const bool may_be = token.kind == Kind::text || token.kind == Kind::mixed || token.kind == Kind::command;
    if (!may_be || token.text.find("rup") == std::string::npos) continue;
    for (const std::string_view word : base::words(token.text)) {
      if (word != "rup" && !word.ends_with("/rup")) continue;
      script_.rups.push_back(Rup{token.text, token.line});
      break;
    }
  }
}

void Statements::run() {
  find_blocks();
  find_volatile();
  constexpr std::size_t kMostAssignments = 500;
  for (std::size_t i = 0; i < tokens_.size() && script_.assignments.size() < kMostAssignments; ++i) take_statement(i);
  find_urls();
  find_rups();
}

}  // namespace

Script script_of(std::string_view text) {
  Script script;
  script.tokens = tokens_of(text);
  Statements(script).run();
  return script;
}

}  // namespace balance::perl
