// SPDX-License-Identifier: MIT
// Makes of a page's bytes a text of the same length that an HTML parser reads as the browser will, byte for byte at the
// same place: what a server fills in (PHP, ASP, JSP, MapServer's [tags]) becomes filler, and so does every byte that is
// not printable ASCII, and '&'. Markup is ASCII in every encoding that is let through here, so encodings need no guess.
// Floor 1: pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balance/forms/script_url.h"

namespace balance::forms {

struct Masked {
  std::string text;            // as long as the page; printable ASCII and line feeds
  std::vector<Span> programs;  // '<?...?>' and '<%...%>', rising
  std::vector<Span> tags;      // '[name ...]' outside of programs, rising
};

Masked mask(std::string_view page);

// Why the markup of `page` cannot be told from its bytes (UTF-16, NUL bytes, ISO 2022), or "".
std::string unreadable(std::string_view page);

// MapServer's own test: its first line says 'MapServer Template'.
bool is_map_template(std::string_view page);

}  // namespace balance::forms
