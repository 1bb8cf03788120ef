// SPDX-License-Identifier: MIT
// A file in the place of standard error, for a poolwatch that nobody listens to. Kept small. Floor 3. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "loadprobe/base/result.h"

namespace balance {

class LogFile {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;

  // Standard error goes to this file from now on, appended; made with mode 0660 if need be. No link is followed.
  static base::Result<LogFile> open(const std::string& path);

  // To be called now and then: a file that has grown too large becomes '<path>.old', and one that was moved or deleted
  // is made anew. Where that fails, the old one is written on.
  void look();

 private:
  explicit LogFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace balance
