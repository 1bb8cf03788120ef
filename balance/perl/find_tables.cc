// SPDX-License-Identifier: MIT
#include <utility>

#include "balance/perl/findings.h"
#include "balance/perl/members.h"
#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

using Shape = Value::Shape;

bool give(Member& member, std::string_view name, const Value& value) {
  const std::string text = value.text().value_or("");
  if (names_any(name, {"weight", "factor", "speed"}) && is_number(text)) {
    member.weight = text;
  } else if (names_any(name, {"port"}) && is_port(text)) {
    member.port = text;
  } else if (text.starts_with('/')) {
    member.script = text;
  } else if (names_any(name, {"inside", "internal", "addr", "ip"}) && member_of(text, 0)) {
    member.inside = text;
  } else {
    return false;
  }
  return true;
}

// %ports = (pinchot => 80, ...)
void take_table(Findings& found, const std::string& name, const Value& value) {
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const std::string key = base::lower(value.items[i].text().value_or(""));
    bool is_of_pool = false;
    for (Member& member : found.pool.members) {
      const std::string host = base::lower(member.host);
      const bool is_it = host == key || host.substr(0, host.find('.')) == key || key.substr(0, key.find('.')) == host;
      if (!is_it || key.empty()) continue;
      is_of_pool = true;
      found.used.insert(name);
      if (give(member, name, value.items[i + 1])) continue;
      found.doubt(value.items[i + 1].line, name + " says " + shown(value.items[i + 1]) + " of '" + member.host +
                                               "'; wanted a port, a weight or a path");
    }
    if (!is_of_pool && found.used.contains(name)) {
      found.doubt(value.items[i].line,
                  name + " has " + shown(value.items[i]) + ", which is not in " + found.pool.source);
    }
  }
}

// @ports = (80, 8080): in the order of the pool.
void take_column(Findings& found, const std::string& name, const Value& value) {
  const bool may_be = !value.items.empty() && names_any(name, {"port", "weight", "factor"});
  if (!may_be) return;
  found.used.insert(name);
  if (value.items.size() != found.pool.members.size() && value.items.size() != 1) {
    found.doubt(found.line_of(name), name + " has " + std::to_string(value.items.size()) + " values; wanted " +
                                         std::to_string(found.pool.members.size()) + ", as many as " +
                                         found.pool.source + " has hosts");
  }
  for (std::size_t i = 0; i < found.pool.members.size(); ++i) {
    if (i >= value.items.size() && value.items.size() != 1) break;
    const Value& one = value.items[value.items.size() == 1 ? 0 : i];
    if (!give(found.pool.members[i], name, one))
      found.doubt(one.line, name + " has " + shown(one) + "; wanted a number");
  }
}

}  // namespace

void find_tables(Findings& found) {
  for (const auto& [name, value] : found.script.known) {
    if (found.used.contains(name)) continue;
    if (value.shape == Shape::hash && name.front() != '$') take_table(found, name, value);
    if (value.shape == Shape::list) take_column(found, name, value);
  }
}

}  // namespace balance::perl
