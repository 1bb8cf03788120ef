// SPDX-License-Identifier: MIT
// Whole small files: read with a bound, written atomically.
// Floor 3.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "loadprobe/base/result.h"

namespace base {

// The whole file, at most `most_bytes` (more is an error that says so). Works on /proc, whose files have no size.
// Anything but a regular file is an error: a FIFO would have us wait for ever.
Result<std::string> read_file(const std::string& path, std::size_t most_bytes = 1 << 20);

// The rest of an open file, with the same bound; `path` is for messages.
Result<std::string> read_all(int fd, const std::string& path, std::size_t most_bytes);

// Writes a neighbour, flushes it and renames it over `path`: a reader sees the old file or the new one, whole.
Status write_file(const std::string& path, std::string_view content, unsigned mode = 0644);

struct Owner {
  unsigned user = 0, group = 0;
};
// The same, given to this owner where the system lets us, and the folder flushed too: it outlives a power cut.
// The neighbour is `path`.new, whatever is there: one caller at a time.
Status write_file_for(const Owner& owner, const std::string& path, std::string_view content, unsigned mode);

}  // namespace base
