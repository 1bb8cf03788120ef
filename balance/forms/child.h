// SPDX-License-Identifier: MIT
// Runs a function in a child process with limits, so that neither endless work nor a crash of a library reaches us.
// Floor 3. Forks: call it while the process has one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "loadprobe/base/result.h"

namespace balance::forms {

struct Limits {
  std::chrono::seconds cpu{10};
  std::size_t memory_bytes = std::size_t{4} << 30;  // address space; not limited in sanitizer builds
};

// What `work` returns. The error says how the child ended otherwise; files it wrote are not undone.
base::Result<std::string> in_a_child(const Limits& limits, const std::function<std::string()>& work);

}  // namespace balance::forms
