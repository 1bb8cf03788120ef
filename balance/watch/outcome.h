// SPDX-License-Identifier: MIT
// What came of one probe or one check of a web port.
// Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "balance/pool/belief.h"
#include "loadprobe/report.h"

namespace balance {

struct WebAnswer {};  // the web port answered

struct Outcome {
  std::size_t host = 0;  // index in Config::hosts
  enum class Of : std::uint8_t { probe, web } of = Of::probe;
  std::variant<ProbeFailure, WebAnswer, loadprobe::Report> what;
};

}  // namespace balance
