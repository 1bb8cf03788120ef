// SPDX-License-Identifier: MIT
// What is known of a pool while it is being looked for, and who looks for which part of it.
// Floor 1: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "balance/perl/pool.h"
#include "balance/perl/script.h"

namespace balance::perl {

struct Findings {
  const Script& script;
  Pool pool{};
  std::set<std::string, std::less<>> used{};  // names that were understood
  bool has_script = false;
  bool has_port = false;

  void note(std::size_t line, std::string what) {
    pool.remarks.push_back(Remark{Remark::Weight::note, line, std::move(what)});
  }
  void doubt(std::size_t line, std::string what) {
    pool.remarks.push_back(Remark{Remark::Weight::doubt, line, std::move(what)});
  }
  // Of the assignment that counts.
  std::size_t line_of(std::string_view name) const;
};

// In this order.
void find_members(Findings& found);  // the list of hosts
void find_tables(Findings& found);   // hashes and arrays that say something of them
void find_scalars(Findings& found);  // domain, port, path
void find_target(Findings& found);   // the same from the URL, and from substitutions

// Whether one of the parts is in the name, in whatever case.
bool names_any(std::string_view name, std::initializer_list<std::string_view> parts);
std::string shown(const Value& value);

}  // namespace balance::perl
