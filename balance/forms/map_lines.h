// SPDX-License-Identifier: MIT
// Shows which lines of a mapfile would lead clients past the balancer. A mapfile is never changed: what is right there
// depends on how the hosts are set up.
// Floor 1: a pure function, any thread.
#pragma once

#include <string_view>

#include "balance/forms/rewrite.h"

namespace balance::forms {

// Notes on IMAGEURL, on TEMPLATE where it is a URL, and on metadata that end in _onlineresource; no edits.
Plan plan_map(std::string_view mapfile, const Rules& rules);

}  // namespace balance::forms
