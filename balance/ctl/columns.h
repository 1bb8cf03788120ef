// SPDX-License-Identifier: MIT
// Text for terminals: aligned columns, numbers with few digits, ages; and strings of JSON. Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/time.h"

namespace balance {

enum class Align { left, right };

// Rows under a heading, each column as wide as its widest cell. The last column is not padded.
class Columns {
 public:
  // REQUIRES: before any row.
  void heading(std::string_view title, Align align);
  // REQUIRES: as many cells as headings.
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string to_text() const;

 private:
  std::vector<std::string> titles_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

struct Digits {  // behind the point
  int count = 0;
};
// '0.25'; '-' for nothing; trailing zeros stay, so that columns stand still.
std::string rounded(std::optional<double> number, Digits digits);
// '12.5%' of a fraction.
std::string percent(double fraction);
// '0.2s', '45s', '12m', '3h', '2d'; 'never' for nothing.
std::string age_text(std::optional<base::Seconds> age);

// A JSON string (RFC 8259 7), quotes included. UTF-8 stays; in other text bytes that are no ASCII become '?'.
std::string json_string(std::string_view text);
// A JSON number, or null for nothing and for what JSON cannot say.
std::string json_number(std::optional<double> number);

}  // namespace balance
