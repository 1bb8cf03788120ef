// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "balance/perl/findings.h"
#include "balance/perl/members.h"
#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

using Shape = Value::Shape;

bool is_pool_name(std::string_view name) {
  return names_any(name, {"pool", "host", "machine", "server", "node", "box", "farm", "cluster", "backend"}) &&
         !names_any(name, {"port", "weight", "name", "best", "min"});
}

bool is_perls_own(std::string_view name) {
  constexpr std::array<std::string_view, 7> kOwn{"@ARGV", "@INC", "@ISA", "@EXPORT", "%ENV", "%SIG", "%INC"};
  return std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
}

struct Candidate {
  std::string name;
  Members members;
  std::size_t score = 0;
};

void note_other_pools(Findings& found, const std::vector<Candidate>& all) {
  std::set<std::string> taken;
  for (const Member& member : found.pool.members) taken.insert(base::lower(member.host));
  for (const Candidate& other : all) {
    if (other.name == found.pool.source) continue;
    std::string more;
    for (const Member& member : other.members.list) {
      if (!taken.contains(base::lower(member.host))) more += (more.empty() ? "" : " ") + member.host;
    }
    if (more.empty()) found.used.insert(other.name);
    if (more.empty() || !is_pool_name(other.name)) continue;
    found.used.insert(other.name);
    found.doubt(found.line_of(other.name), other.name + " has hosts that " + found.pool.source +
                                               " has not: " + as_text(more) + "; wanted one list, " +
                                               found.pool.source + " was taken");
  }
}

void take(Findings& found, Candidate chosen, const std::vector<Candidate>& all) {
  found.pool.source = chosen.name;
  found.pool.members = std::move(chosen.members.list);
  found.used.insert(chosen.name);
  for (Remark& remark : chosen.members.doubts) found.pool.remarks.push_back(std::move(remark));
  note_other_pools(found, all);
}

// No list anywhere: perhaps the hosts stand in the command itself.
void take_from_rup(Findings& found) {
  for (const Rup& rup : found.script.rups) {
    bool is_behind = false;
    for (const std::string_view word : base::words(rup.command)) {
      if (word == "|" || word.front() == '>') break;
      if (is_behind && word.front() != '-' && word.front() != '$' && word.front() != '@') {
        if (std::optional<Member> member = member_of(word, rup.line)) found.pool.members.push_back(*std::move(member));
      }
      is_behind = is_behind || word == "rup" || word.ends_with("/rup");
    }
    if (found.pool.members.empty()) continue;
    found.pool.source = "rup";
    return;
  }
  found.doubt(0, "no list of hosts was found; wanted one, as @pool = ('pinchot', 'leopold');");
}

}  // namespace

void find_members(Findings& found) {
  std::vector<Candidate> all;
  for (const auto& [name, value] : found.script.known) {
    if (is_perls_own(name)) continue;
    Candidate candidate{name, members_of(value, name), 0};
    const std::size_t count = candidate.members.list.size();
    const bool is_named = is_pool_name(name);
    const bool is_scalar = value.shape == Shape::scalar;
    if (count == 0) {
      const bool is_array = name.front() == '@' || name.front() == '%';
      if (is_named && is_array) {
        found.doubt(found.line_of(name),
                    name + " is made while the script runs; wanted a list of hosts, as ('pinchot', 'leopold')");
        found.used.insert(name);
      }
      continue;
    }
    // One word in a string is a name of whatever; with doubts in an array not called a pool it is no pool.
    if (is_scalar && (count < 2 || !candidate.members.doubts.empty())) continue;
    if (!is_named && (!candidate.members.doubts.empty() || names_any(name, {"port", "weight"}))) continue;
    constexpr std::size_t kNamed = 10000, kArray = 2000;
    candidate.score = (is_named ? kNamed : 0) + (name.front() == '@' ? kArray : 0) + std::min(count, std::size_t{999});
    all.push_back(std::move(candidate));
  }
  const auto best = std::max_element(all.begin(), all.end(),
                                     [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
  if (best == all.end()) return take_from_rup(found);
  take(found, *best, all);
}

}  // namespace balance::perl
