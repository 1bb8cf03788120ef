// SPDX-License-Identifier: MIT
#include "balance/ctl/columns.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

#include "loadprobe/base/text.h"

namespace balance {
namespace {

void append_cell(std::string& line, std::string_view cell, std::size_t width, Align align) {
  const std::string padding(width > cell.size() ? width - cell.size() : 0, ' ');
  line += align == Align::left ? std::string(cell) + padding : padding + std::string(cell);
}

}  // namespace

void Columns::heading(std::string_view title, Align align) {
  titles_.emplace_back(title);
  aligns_.push_back(align);
}

std::string Columns::to_text() const {
  std::vector<std::size_t> widths;
  for (const std::string& title : titles_) widths.push_back(title.size());
  for (const std::vector<std::string>& row : rows_) {
    assert(row.size() == titles_.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  const auto append = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      append_cell(line, row[i], widths[i], aligns_[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  };
  append(titles_);
  for (const std::vector<std::string>& row : rows_) append(row);
  return text;
}

std::string rounded(std::optional<double> number, Digits digits) {
  if (!number || !std::isfinite(*number)) return "-";
  std::array<char, 400> text{};
  const auto [end, fault] =
      std::to_chars(text.data(), text.data() + text.size(), *number, std::chars_format::fixed, digits.count);
  return fault == std::errc{} ? std::string(text.data(), end) : "-";
}

std::string percent(double fraction) { return rounded(fraction * 100, Digits{1}) + "%"; }

std::string age_text(std::optional<base::Seconds> age) {
  if (!age) return "never";
  const double seconds = std::max(age->count(), 0.0);
  if (seconds < 9.95) return rounded(seconds, Digits{1}) + "s";
  if (seconds < 120) return rounded(std::floor(seconds), Digits{0}) + "s";
  if (seconds < 7200) return rounded(std::floor(seconds / 60), Digits{0}) + "m";
  if (seconds < 172800) return rounded(std::floor(seconds / 3600), Digits{0}) + "h";
  return rounded(std::floor(seconds / 86400), Digits{0}) + "d";
}

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool is_utf8 = base::printable(text, text.size()) == text;
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xF];
    } else {
      out += byte > 0x7F && !is_utf8 ? '?' : c;
    }
  }
  return out + "\"";
}

std::string json_number(std::optional<double> number) {
  return number && std::isfinite(*number) ? base::to_text(*number) : "null";
}

}  // namespace balance
