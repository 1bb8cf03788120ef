// SPDX-License-Identifier: MIT
// The pages as files: read with what must survive a rewrite, replaced in one step, the first version kept as '.orig'.
// Floor 3.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/result.h"

namespace balance::forms {

struct PageFile {
  std::string path;  // symbolic links resolved: what is replaced is their target
  std::string bytes;
  struct stat status {};
};

// A regular file of at most 16 MB; anything else is an error that names the path.
base::Result<PageFile> read_page(const std::string& path);

// Writes `path`.orig unless something of that name is there, then puts `content` in place of the file, atomically, with
// its mode, owner and group. An error if those cannot be kept, if nobody may write to the file (even when the caller is
// root), or if it changed since it was read; the file is then as it was.
base::Status replace_page(const PageFile& page, std::string_view content);

struct Walk {
  std::vector<std::string> pages;   // sorted
  std::vector<std::string> errors;  // folders that could not be read, links that were not followed
};
// All files below a folder whose names is_page_name() takes; folders that begin with '.' are passed over, links are not
// followed.
Walk pages_below(const std::string& folder);

}  // namespace balance::forms
