// SPDX-License-Identifier: MIT
// A unified diff, written from known edits: nothing has to be compared.
// Floor 1: a pure function, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balance/forms/script_url.h"

namespace balance::forms {

// What `diff -u` prints (three lines of context) between `bytes` and `bytes` with `to` in place of every edit, both
// named `name`; "" without edits. Lines end at line feeds alone, every other byte stays as it is.
// REQUIRES: edits rising, apart, none over a line's end.
std::string unified_diff(std::string_view name, std::string_view bytes, const std::vector<Span>& edits,
                         std::string_view to);

}  // namespace balance::forms
