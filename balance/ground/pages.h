// SPDX-License-Identifier: MIT
// The bodies of our own replies: templates/reply/*.html, built in, filled with escaped text.
// Floor 1: pure functions, any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace balance {

enum class Page { unavailable, loop_detected, bad_request, internal_error };

// The page with each {{name}} replaced by its value, escaped for HTML. A name that is not given is a defect: asserted.
std::string page(Page which, std::initializer_list<std::pair<std::string_view, std::string_view>> values);

std::string html_escaped(std::string_view text);

}  // namespace balance
