// SPDX-License-Identifier: MIT
// What has to change in a page so that its forms, links, pictures and frames that name mapserv come back to the
// balancer: the bytes to replace, and what a person has to look at. Only the beginning of a URL (scheme, authority and
// the path up to the script) is ever replaced, and only where a parser, the bytes and the rules agree.
// Floor 1: pure functions. plan_page() and plan() run an HTML parser: see markup.h for its limits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balance/forms/script_url.h"

namespace balance::forms {

enum class Weight {
  note,    // worth knowing, nothing to decide
  unsure,  // named and left alone: a person has to look
};

struct Remark {
  std::size_t line = 0;  // from 1; 0 is the whole file
  Weight weight = Weight::note;
  std::string text;  // without control characters

  friend bool operator==(const Remark&, const Remark&) = default;
};

struct Plan {
  std::vector<Span> edits;      // rising, apart, each within one line; Rules::to takes their place
  std::vector<Remark> remarks;  // by line
};

Plan plan_page(std::string_view page, const Rules& rules);

// JavaScript: every place that names a script, nothing is changed.
Plan plan_script(std::string_view text, const Rules& rules);

// By the ending of `path`: '.map' a mapfile, '.js' JavaScript, everything else a page.
Plan plan(std::string_view path, std::string_view bytes, const Rules& rules);

// Whether a walk through a folder looks at a file of this name. Not at our '.orig', nor at '.js.map' and '.css.map'.
bool is_page_name(std::string_view path);

// REQUIRES: edits of plan() for these bytes.
std::string rewritten(std::string_view bytes, const std::vector<Span>& edits, std::string_view to);

}  // namespace balance::forms
