// SPDX-License-Identifier: MIT
#include "balance/perl/pool.h"

#include <algorithm>
#include <set>
#include <utility>

#include "balance/perl/findings.h"
#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

using Shape = Value::Shape;

void note_comments(Findings& found) {
  std::size_t first = 0, last = 0;
  for (const Assignment& assignment : found.script.assignments) {
    if (assignment.name != found.pool.source) continue;
    first = assignment.line;
    last = assignment.last_line;
    for (const Token& comment : found.script.tokens.comments) {
      const bool is_within = comment.line >= first && comment.line <= last && !comment.text.empty();
      if (is_within) found.note(comment.line, "a comment in " + found.pool.source + ": " + as_text(comment.text));
    }
  }
}

// A rule by the time of day (backups at night) or by who asks: a pool alone does not say it.
void note_rules(Findings& found) {
  const std::vector<Token>& tokens = found.script.tokens.list;
  std::size_t last_line = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.line == last_line) continue;
    if (token.kind == Kind::word && (token.text == "localtime" || token.text == "gmtime")) {
      found.note(token.line, token.text + " is asked: rules by time have no counterpart here; cron does it with " +
                                 "'balancectl drain HOST --for 2h' or 'balancectl weight'");
      last_line = token.line;
    }
    if (token.kind != Kind::variable || token.text != "$ENV" || i + 2 >= tokens.size()) continue;
    const std::string& name = tokens[i + 2].text;
    if (name == "REMOTE_ADDR" || name == "REMOTE_HOST" || name == "HTTP_REFERER" || name == "HTTP_USER_AGENT") {
      found.note(token.line, name + " is asked: rules by who asks have no counterpart here");
      last_line = token.line;
    }
  }
}

// What else the script says in so many words: nothing of it is lost without a line.
void note_rest(Findings& found) {
  for (const Rup& rup : found.script.rups) {
    found.pool.asks_rup = true;
    found.note(rup.line, "rup is asked: '" + as_text(rup.command) + "'; poolwatch asks all hosts at once now");
  }
  std::set<std::string> said;
  for (const Assignment& assignment : found.script.assignments) {
    const auto known = found.script.known.find(assignment.name);
    const bool is_worth = known != found.script.known.end() && !found.used.contains(assignment.name) &&
                          !assignment.is_nested && !found.script.volatile_names.contains(assignment.name);
    if (!is_worth || !said.insert(assignment.name).second) continue;
    const std::optional<std::string> text = known->second.text();
    if (text && text->find("://") == std::string::npos && text->find("rup") == std::string::npos) {
      found.note(assignment.line, assignment.name + " = '" + as_text(*text) + "' has no counterpart here");
    }
    const bool is_literal = std::any_of(known->second.items.begin(), known->second.items.end(),
                                        [](const Value& item) { return item.text(); });
    const bool is_list = known->second.shape == Shape::list || known->second.shape == Shape::hash;
    if (is_list && is_literal) {
      found.note(assignment.line, assignment.name + " with " + std::to_string(known->second.items.size()) +
                                      " values has no counterpart here");
    }
  }
  for (const Token& file : found.script.files) {
    found.doubt(file.line, "what '" + as_text(file.text) + "' says was not read; wanted all in one script");
  }
  const Tokens& tokens = found.script.tokens;
  if (!tokens.fault.empty()) found.doubt(tokens.fault_line, tokens.fault + "; what follows was not read");
  if (tokens.end_line != 0) found.note(tokens.end_line, "what follows __END__ or __DATA__ was not read");
}

// Names that only a resolver with a search domain knows.
void note_short_names(Findings& found) {
  const auto is_short = [](const Member& member) {
    return member.host.find('.') == std::string::npos && member.host.front() != '[';
  };
  const auto first = std::find_if(found.pool.members.begin(), found.pool.members.end(), is_short);
  if (first == found.pool.members.end() || !found.pool.domain.empty()) return;
  found.note(first->line, "no domain was found: clients have to know '" + first->host + "' by this name");
}

// rup shows each host once, however often it is named.
void merge_twins(Findings& found) {
  std::vector<Member> once;
  for (Member& member : found.pool.members) {
    const bool is_twin = std::any_of(once.begin(), once.end(), [&](const Member& other) {
      return base::same_ignoring_case(other.host, member.host) && other.port == member.port;
    });
    if (is_twin) {
      found.note(member.line, "'" + member.host + "' is named twice and was taken once");
    } else {
      once.push_back(std::move(member));
    }
  }
  found.pool.members = std::move(once);
}

}  // namespace

std::size_t Findings::line_of(std::string_view name) const {
  std::size_t line = 0;
  for (const Assignment& assignment : script.assignments) {
    if (assignment.name == name && (line == 0 || !assignment.is_nested)) line = assignment.line;
  }
  return line;
}

bool names_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  const std::string lower = base::lower(name);
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

std::string shown(const Value& value) {
  const std::optional<std::string> text = value.text();
  return text ? "'" + as_text(*text) + "'" : "something that is known only when the script runs";
}

Pool pool_of(const Script& script) {
  Findings found{script};
  find_members(found);
  if (!found.pool.members.empty()) find_tables(found);
  find_scalars(found);
  find_target(found);
  merge_twins(found);
  note_short_names(found);
  note_comments(found);
  note_rules(found);
  note_rest(found);
  std::stable_sort(found.pool.remarks.begin(), found.pool.remarks.end(),
                   [](const Remark& a, const Remark& b) { return a.line < b.line; });
  return std::move(found.pool);
}

}  // namespace balance::perl
