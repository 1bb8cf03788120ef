// SPDX-License-Identifier: MIT
// What the fuzz targets share: a promise that does not hold ends the run, with the input that broke it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

inline void promise(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "BROKEN PROMISE: %s\n", what);
  std::abort();
}

}  // namespace fuzz
