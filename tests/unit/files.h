// SPDX-License-Identifier: MIT
// Whole files of the tree and of tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

// All bytes of the file; a file that cannot be read is a fault.
inline std::string text_of(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
