// SPDX-License-Identifier: MIT
// Survives the truncation of a mapped file: whoever then touches a page beyond its end gets SIGBUS, and a process-wide
// handler, installed at the first mapping, puts zero pages over the whole range instead. Any other SIGBUS goes where it
// would have gone without us. Floor 3. Any thread.
#pragma once

#include <atomic>
#include <cstddef>

#include "loadprobe/base/result.h"

namespace balance {

// Watches over one mapped range, from guard() to its destruction (which must come before munmap).
class Guard {
 public:
  Guard() = default;
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&& other) noexcept;
  ~Guard() { release(); }

  // `lost` becomes true when zero pages took the place of the file; it must outlive the guard. Error: 64 ranges are
  // watched already, or the system refuses the handler.
  static base::Result<Guard> over(void* begin, std::size_t bytes, std::atomic<bool>* lost);

 private:
  explicit Guard(int slot) : slot_(slot) {}
  void release();
  int slot_ = -1;
};

}  // namespace balance
