// SPDX-License-Identifier: MIT
// The start tags of a page with the byte positions of their attributes' values, and the stretches that are no markup,
// as an HTML parser finds them. Floor 1: a pure function. The parser's time is quadratic in the nesting at worst and
// its memory bounded by nothing, so call it where a long run or a crash can be borne (a child with limits).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balance/forms/script_url.h"

namespace balance::forms {

struct Attribute {
  std::string name;     // lower case
  Span value;           // without its quotes
  std::string decoded;  // the value as the parser understands it
};

struct Tag {
  std::string name;  // lower case
  Span span;         // '<' to '>'
  std::vector<Attribute> attributes;
};

struct Region {
  enum class Kind { comment, script, style, fallback, plain };
  Kind kind = Kind::plain;
  Span span;
};

struct Markup {
  std::vector<Tag> tags;        // rising, none twice; what the rules of HTML drop is not here
  std::vector<Region> regions;  // rising
  std::string doubt;            // not empty: the parser's positions do not fit the bytes, nothing here can be trusted
};

// `text` as mask() makes it.
Markup read_markup(std::string_view text);

}  // namespace balance::forms
