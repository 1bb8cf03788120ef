// SPDX-License-Identifier: MIT
#include "balance/perl/members.h"

#include <algorithm>
#include <utility>

#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

using Shape = Value::Shape;

constexpr std::size_t kMostHostBytes = 253;

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_host(std::string_view text) {
  if (text.empty() || text.size() > kMostHostBytes || text.front() == '-' || text.front() == '.') return false;
  if (!std::all_of(text.begin(), text.end(), is_host_character)) return false;
  if (text.find("..") != std::string_view::npos) return false;
  const bool has_letter = std::any_of(text.begin(), text.end(), [](char c) { return base::lower(c) >= 'a'; });
  return has_letter || std::count(text.begin(), text.end(), '.') == 3;
}

bool is_bracketed_address(std::string_view text) {
  return text.size() > 2 && text.front() == '[' && text.back() == ']' &&
         text.substr(1, text.size() - 2).find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Remark doubt(std::size_t line, std::string what) { return Remark{Remark::Weight::doubt, line, std::move(what)}; }

std::string shown(const Value& value) {
  const std::optional<std::string> text = value.text();
  return text ? "'" + as_text(*text) + "'" : "what is known only when the script runs";
}

bool is_reference(const Value& value) { return value.shape == Shape::hash; }
// [..] is kept as a hash with the one key "".
bool is_array_reference(const Value& value) {
  return is_reference(value) && value.items.size() == 2 && value.items[0].text() == "" &&
         value.items[1].shape == Shape::list;
}

void give(Member& member, std::string_view key, const std::string& text) {
  const std::string name = base::lower(key);
  if (contains(name, "port")) {
    member.port = text;
  } else if (contains(name, "weight") || contains(name, "factor")) {
    member.weight = text;
  } else if (contains(name, "inside") || contains(name, "internal") || name == "ip") {
    member.inside = text;
  } else if (contains(name, "script") || contains(name, "path") || contains(name, "cgi")) {
    member.script = text;
  } else if (contains(name, "scheme") || contains(name, "proto")) {
    member.scheme = text;
  }
}

// { host => 'pinchot', port => 80 } or [ 'pinchot', 80 ]; `key` is the host where the reference is a hash's value.
std::optional<Member> of_reference(const Value& value, const std::string& key) {
  std::optional<Member> member = member_of(key, value.line);
  if (is_array_reference(value)) {
    for (const Value& item : value.items[1].items) {
      const std::string text = item.text().value_or("");
      if (!member) {
        member = member_of(text, value.line);
      } else if (is_port(text) && member->port.empty()) {
        member->port = text;
      } else if (is_number(text)) {
        member->weight = text;
      } else if (text.starts_with('/')) {
        member->script = text;
      }
    }
    return member;
  }
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const std::string name = base::lower(value.items[i].text().value_or(""));
    const std::string text = value.items[i + 1].text().value_or("");
    const bool names_host = contains(name, "host") || contains(name, "name") || contains(name, "machine") ||
                            contains(name, "server") || contains(name, "url") || contains(name, "addr");
    if (!names_host) continue;
    if (std::optional<Member> named = member_of(text, value.line)) member = std::move(named);
  }
  if (!member) return std::nullopt;
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
    give(*member, value.items[i].text().value_or(""), value.items[i + 1].text().value_or(""));
  }
  return member;
}

// What stands beside a host: its port, its weight by the variable's name, another address.
void give_value(Member& member, const Value& value, std::string_view name, std::vector<Remark>& doubts) {
  const std::string text = value.text().value_or("");
  const std::string lower = base::lower(name);
  const bool by_name = contains(lower, "weight") || contains(lower, "factor") || contains(lower, "speed");
  constexpr std::uint64_t kLeastLikelyPort = 80;
  const bool likely_port =
      is_port(text) && (base::whole_number(text).value_or(0) >= kLeastLikelyPort || contains(lower, "port"));
  if (by_name && is_number(text)) {
    member.weight = text;
  } else if (likely_port) {
    member.port = text;
  } else if (const std::optional<Member> other = member_of(text, value.line)) {
    // 'pinchot' => 'pinchot.example.org:8080'
    member.host = other->host;
    member.port = other->port;
    member.scheme = other->scheme;
    if (!other->script.empty()) member.script = other->script;
  } else if (text != "" && text != "1") {
    doubts.push_back(doubt(value.line, std::string(name) + " says " + shown(value) + " of '" + member.host +
                                           "'; wanted a port, a weight or an address"));
  } else if (text.empty() && !value.text()) {
    doubts.push_back(doubt(value.line, std::string(name) + " says of '" + member.host + "' " + shown(value)));
  }
}

Members of_hash(const Value& value, std::string_view name) {
  Members found;
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    const Value none;
    const Value& beside = i + 1 < value.items.size() ? value.items[i + 1] : none;
    const std::string key = value.items[i].text().value_or("");
    std::optional<Member> member =
        is_reference(beside) ? of_reference(beside, key) : member_of(key, value.items[i].line);
    if (!member) {
      found.doubts.push_back(doubt(
          value.items[i].line, std::string(name) + " has the key " + shown(value.items[i]) + "; wanted a host's name"));
      continue;
    }
    if (!is_reference(beside) && i + 1 < value.items.size()) give_value(*member, beside, name, found.doubts);
    found.list.push_back(*std::move(member));
  }
  return found;
}

Members of_list(const std::vector<Value>& items, std::string_view name) {
  Members found;
  for (const Value& item : items) {
    const std::optional<std::string> text = item.text();
    if (is_reference(item)) {
      if (std::optional<Member> member = of_reference(item, "")) {
        found.list.push_back(*std::move(member));
        continue;
      }
    }
    if (text && is_number(*text) && !member_of(*text, item.line) && !found.list.empty()) {
      // ('pinchot', 80, 'leopold', 80)
      give_value(found.list.back(), item, name, found.doubts);
      continue;
    }
    std::optional<Member> member = text ? member_of(*text, item.line) : std::nullopt;
    if (member) {
      found.list.push_back(*std::move(member));
    } else {
      found.doubts.push_back(doubt(item.line, std::string(name) + " has " + shown(item) + "; wanted a host's name"));
    }
  }
  return found;
}

}  // namespace

bool is_number(std::string_view text) { return base::number(text).has_value(); }

bool is_port(std::string_view text) {
  constexpr std::uint64_t kMost = 65535;
  const std::optional<std::uint64_t> number = base::whole_number(text);
  return number && *number >= 1 && *number <= kMost;
}

std::optional<Member> member_of(std::string_view text, std::size_t line) {
  Member member;
  member.line = line;
  text = base::trim(text);
  for (const std::string_view scheme : {"http", "https"}) {
    const std::string start = std::string(scheme) + "://";
    if (!text.starts_with(start)) continue;
    member.scheme = scheme;
    text.remove_prefix(start.size());
    break;
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view path = text.substr(slash, text.find('?') - slash);
    if (path.size() > 1) member.script = path;
    text = text.substr(0, slash);
  }
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    if (!is_port(text.substr(colon + 1))) return std::nullopt;
    member.port = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  if (!is_host(text) && !is_bracketed_address(text)) return std::nullopt;
  member.host = text;
  return member;
}

Members members_of(const Value& value, std::string_view name) {
  if (is_array_reference(value)) return of_list(value.items[1].items, name);
  if (value.shape == Shape::hash) return of_hash(value, name);
  if (value.shape == Shape::list) return of_list(value.items, name);
  std::string text = value.text().value_or("");
  std::replace(text.begin(), text.end(), ',', ' ');
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::vector<Value> items;
  for (const std::string_view word : base::words(text)) items.push_back(text_value(word, value.line));
  return of_list(items, name);
}

}  // namespace balance::perl
