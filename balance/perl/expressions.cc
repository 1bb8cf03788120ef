// SPDX-License-Identifier: MIT
#include "balance/perl/expressions.h"

#include <algorithm>
#include <utility>

#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

using Shape = Value::Shape;

constexpr int kDeepest = 40;

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'); }

// The end of the subscript that begins at `at`, if one does: [..] or {..}, '->' in front, no nesting.
std::size_t subscript_end(std::string_view text, std::size_t at) {
  const std::size_t begin = text.substr(at, 2) == "->" ? at + 2 : at;
  if (begin >= text.size() || (text[begin] != '[' && text[begin] != '{')) return at;
  const std::size_t end = text.find(text[begin] == '[' ? ']' : '}', begin);
  return end == std::string_view::npos ? at : end + 1;
}

// Counts the values in a value, down to a depth, until there are too many.
bool is_small(const Value& value, std::size_t& budget, int depth) {
  if (budget == 0 || depth > kDeepest / 4) return false;
  --budget;
  return std::all_of(value.items.begin(), value.items.end(),
                     [&](const Value& item) { return is_small(item, budget, depth + 1); });
}

char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    default:
      return c;
  }
}

std::string plain(std::string_view text) {  // '...': only \\ and \' are escapes
  std::string found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '\\' || text[i + 1] == '\'')) ++i;
    found += text[i];
  }
  return found;
}

}  // namespace

bool Reader::is(std::size_t at, std::string_view mark) const {
  return at < tokens_.size() && tokens_[at].kind == Kind::mark && tokens_[at].text == mark;
}

Value Reader::mixed(std::string_view text, std::size_t line) const {
  Value value{Shape::scalar, {}, {}, line};
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      add_text(value, std::string(1, unescaped(text[i + 1])));
      i += 2;
      continue;
    }
    const bool in_braces = i + 1 < text.size() && text[i + 1] == '{';
    std::size_t end = i + (in_braces ? 2 : 1);
    const std::size_t begin = end;
    while ((c == '$' || c == '@') && end < text.size() && is_name(text[end])) ++end;
    const bool is_bare = end == begin || (in_braces && (end >= text.size() || text[end] != '}'));
    if (is_bare || (c != '$' && c != '@')) {
      add_text(value, text.substr(i, 1));
      ++i;
      continue;
    }
    const std::string name = c + std::string(text.substr(begin, end - begin));
    if (in_braces) ++end;
    i = subscript_end(text, end);
    const auto found = i == end && !volatile_.contains(name) ? known_.find(name) : known_.end();
    if (found != known_.end() && found->second.shape == Shape::scalar) {
      add_pieces(value, found->second);
    } else {
      add_variable(value, name);
    }
  }
  return value;
}

Value Reader::joined(std::size_t& at, int depth) const {
  Value left = single(at, depth);
  for (;;) {
    const bool repeats = at < tokens_.size() && tokens_[at].kind == Kind::word && tokens_[at].text == "x";
    if (repeats && at + 1 < tokens_.size() && tokens_[at + 1].kind == Kind::number) {
      const auto times = std::min(base::whole_number(tokens_[at + 1].text).value_or(0), std::uint64_t{kMostItems});
      at += 2;
      Value many{Shape::list, {}, {}, left.line};
      for (std::uint64_t i = 0; i < times && many.items.size() < kMostItems; ++i) append(many.items, left);
      left = std::move(many);
      continue;
    }
    if (!is(at, ".")) return left;
    ++at;
    const Value right = single(at, depth);
    if (left.shape != Shape::scalar || right.shape != Shape::scalar) {
      left = unknown_value(left.line);
    } else {
      add_pieces(left, right);
    }
  }
}

// On to what ends an item of a list: a comma, a bracket that closes the list, a semicolon.
void Reader::skip_item(std::size_t& at) const {
  for (std::size_t open = 0; at < tokens_.size(); ++at) {
    const Token& token = tokens_[at];
    if (token.kind != Kind::mark) continue;
    // One look at a character: of hostile text every statement may pass over all that follows.
    const char mark = token.text.front();
    if (mark == ';') return;
    if (mark == '(' || mark == '[' || mark == '{') ++open;
    const bool closes = mark == ')' || mark == ']' || mark == '}';
    if (open == 0 && (closes || mark == ',' || token.text == "=>")) return;
    if (closes) --open;
  }
}

Value Reader::list(std::size_t& at, std::string_view close, int depth) const {
  Value all{Shape::list, {}, {}, at < tokens_.size() ? tokens_[at].line : 0};
  bool is_sound = true;
  while (at < tokens_.size()) {
    if (close.empty() ? is(at, ";") || is(at, "}") : is(at, close)) {
      if (!close.empty()) ++at;
      break;
    }
    if (is(at, ",") || is(at, "=>")) {
      ++at;
      continue;
    }
    if (is(at, ";")) {  // the list has no end
      is_sound = false;
      break;
    }
    Value item = joined(at, depth + 1);
    const bool ends = at >= tokens_.size() || is(at, ",") || is(at, "=>") || is(at, ";") || is(at, "}") ||
                      (!close.empty() && is(at, close));
    if (item.shape == Shape::unknown || !ends) {
      is_sound = false;
      skip_item(at);
      append(all.items, unknown_value(item.line));
      if (at < tokens_.size() && !is(at, ",") && !is(at, "=>") && (close.empty() || !is(at, close))) break;
      continue;
    }
    if (all.items.size() < kMostItems) append(all.items, std::move(item));
  }
  if (!is_sound && all.items.empty()) all.shape = Shape::unknown;
  return all;
}

// A word that is no key: a constant, or a function.
Value Reader::call(std::size_t& at, int depth) const {
  const Token& word = tokens_[at++];
  const bool in_brackets = is(at, "(");
  const bool is_list_maker = word.text == "sort" || word.text == "reverse" || word.text == "uniq";
  if (word.text == "split") {
    if (in_brackets) ++at;
    if (at >= tokens_.size()) return unknown_value(word.line);
    const Token& pattern = tokens_[at++];
    if (is(at, ",")) ++at;
    const Value text = joined(at, depth + 1);
    if (in_brackets && is(at, ")")) ++at;
    const bool is_sound = pattern.kind == Kind::pattern || pattern.kind == Kind::text || pattern.kind == Kind::mixed;
    return is_sound ? split_value(text, pattern.line) : unknown_value(pattern.line);
  }
  if (word.text == "sprintf" || word.text == "printf" || is_list_maker) {
    if (in_brackets) ++at;
    std::size_t end = at;
    Value arguments = list(end, in_brackets ? ")" : "", depth + 1);
    at = end;
    return is_list_maker ? arguments : formatted_value(arguments);
  }
  if (word.text == "lc" || word.text == "lcfirst" || word.text == "scalar") return joined(at, depth + 1);
  const auto known = known_.find(word.text);
  std::size_t budget = kMostItems;
  if (known != known_.end() && !in_brackets && is_small(known->second, budget, 0)) return known->second;
  return unknown_value(word.line);
}

Value Reader::variable(std::size_t& at, int depth) const {
  const Token& token = tokens_[at++];
  const bool has_subscript = token.text.front() == '$' && (is(at, "[") || is(at, "{") || is(at, "->"));
  if (has_subscript) {
    while (is(at, "[") || is(at, "{") || is(at, "->")) {
      if (is(at, "->")) {
        ++at;
        if (!is(at, "[") && !is(at, "{")) return unknown_value(token.line);  // a method
      }
      const std::string_view close = is(at, "[") ? "]" : "}";
      ++at;
      (void)list(at, close, depth + 1);
    }
    return Value{Shape::scalar, {Piece{token.text, true}}, {}, token.line};
  }
  const auto known = volatile_.contains(token.text) ? known_.end() : known_.find(token.text);
  std::size_t budget = kMostItems;
  if (known != known_.end() && is_small(known->second, budget, 0)) {
    Value value = known->second;
    if (value.shape == Shape::hash && token.text.front() == '%') value.shape = Shape::list;
    value.line = token.line;
    return value;
  }
  if (token.text.front() == '$') return Value{Shape::scalar, {Piece{token.text, true}}, {}, token.line};
  return unknown_value(token.line);
}

// What a mark begins: a list, a reference, a bare word with '-'.
Value Reader::marked(std::size_t& at, int depth) const {
  const Token& token = tokens_[at];
  if (is(at, "(")) return list(++at, ")", depth);
  if (is(at, "[") || is(at, "{")) {
    // A reference: it stays one item of the list that it stands in.
    const bool is_hash = is(at, "{");
    Value held = list(++at, is_hash ? "}" : "]", depth);
    held.line = token.line;
    if (held.shape == Shape::unknown) return held;
    if (is_hash) held.shape = Shape::hash;
    if (!is_hash) return Value{Shape::hash, {}, {text_value("", token.line), std::move(held)}, token.line};
    return held;
  }
  if (is(at, "\\")) return single(++at, depth + 1);
  if (is(at, "-") && at + 1 < tokens_.size() && tokens_[at + 1].kind == Kind::word && is(at + 2, "=>")) {
    at += 2;
    return text_value("-" + tokens_[at - 1].text, token.line);
  }
  return unknown_value(token.line);
}

Value Reader::single(std::size_t& at, int depth) const {
  if (at >= tokens_.size() || depth > kDeepest) {
    const std::size_t line = at < tokens_.size() ? tokens_[at].line : 0;
    // Too deep: not a step further, or every level would look at the rest again.
    if (depth > kDeepest) at = tokens_.size();
    return unknown_value(line);
  }
  const Token& token = tokens_[at];
  switch (token.kind) {
    case Kind::text:
      ++at;
      return text_value(plain(token.text), token.line);
    case Kind::number:
      ++at;
      return text_value(token.text, token.line);
    case Kind::mixed:
      ++at;
      return mixed(token.text, token.line);
    case Kind::words: {
      ++at;
      Value all{Shape::list, {}, {}, token.line};
      for (const std::string& word : token.words) all.items.push_back(text_value(word, token.line));
      return all;
    }
    case Kind::variable:
      return variable(at, depth);
    case Kind::word:
      if (!is(at + 1, "=>")) return call(at, depth);
      ++at;
      return text_value(token.text, token.line);
    case Kind::pattern:
    case Kind::command:
    case Kind::comment:
      ++at;
      return unknown_value(token.line);
    case Kind::mark:
      break;
  }
  return marked(at, depth);
}

}  // namespace balance::perl
