// SPDX-License-Identifier: MIT
// The administrator's order to this host, as the text of the drain file.
// Floor 1: pure functions over text.
//
//   no file        serving
//   'off: REASON'  off; 'off' alone too
//   'REASON'       draining; the reason may be empty
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "loadprobe/report.h"

namespace loadprobe {

struct Order {
  Duty duty = Duty::serving;
  std::string reason;  // printable, at most 200 bytes
  friend bool operator==(const Order&, const Order&) = default;
};

// The order in the drain file's text; nothing is no file.
Order parse_order(const std::optional<std::string>& drain_file);

}  // namespace loadprobe
