// SPDX-License-Identifier: MIT
// A plan as text, for the way from the child that made it.
// Floor 1: pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "balance/forms/rewrite.h"
#include "loadprobe/base/result.h"

namespace balance::forms {

// REQUIRES: remarks without line feeds.
std::string to_text(const Plan& plan);
// An error for anything that to_text() does not write for a file of that size, a truncated text too.
base::Result<Plan> parse_plan(std::string_view text, std::size_t file_bytes);

}  // namespace balance::forms
