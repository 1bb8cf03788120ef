// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text.
#include "loadprobe/order.h"

#include <algorithm>

#include "loadprobe/base/text.h"

namespace loadprobe {

Order parse_order(const std::optional<std::string>& drain_file) {
  constexpr std::string_view kOff = "off:";
  constexpr std::size_t kMostReasonBytes = 200;
  if (!drain_file) return {};
  std::string_view text = base::trim(*drain_file);
  const bool off = text == "off" || text.starts_with(kOff);
  if (off) text.remove_prefix(std::min(kOff.size(), text.size()));
  return {off ? Duty::off : Duty::draining, base::printable(text, kMostReasonBytes)};
}

}  // namespace loadprobe
