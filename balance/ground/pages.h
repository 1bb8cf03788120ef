// SPDX-License-Identifier: MIT
// The bodies of our own replies: templates/reply/*, built in, filled with text that is escaped for their format.
// Floor 1: pure functions, any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "balance/ground/format.h"

namespace balance {

enum class Page { unavailable, loop_detected, bad_request, internal_error, too_large, bad_gateway, gateway_timeout };

using Values = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// The page with each {{name}} replaced by its value, escaped for HTML. A name that is not given is a defect: asserted.
std::string page(Page which, Values values);

struct Document {
  std::string_view type;  // Content-Type
  std::string body;
};
// The same in the format asked for: what a page says in one paragraph, within the frame of the format. `values` are
// those of the page, and for Format::problem the `status` and its `title`.
Document document(Page which, Format format, Values values);

std::string html_escaped(std::string_view text);  // good for XML too
// For a string of JSON. REQUIRES: UTF-8.
std::string json_escaped(std::string_view text);

}  // namespace balance
