// SPDX-License-Identifier: MIT
// The Prometheus text format, version 0.0.4: reading a line and writing a page. It knows no metric by name.
// Floor 1: pure functions over text, any thread.
//
//   page   = { line LF }
//   line   = blank | '#' anything | name [ '{' [ label { ',' label } [ ',' ] ] '}' ] value [ time ] [ '#' exemplar ]
//   label  = name '=' '"' { any byte but '"', '\' and LF | '\\' | '\"' | '\n' } '"'
//   value  = a decimal number | [ '+' | '-' ] ( 'Inf' | 'NaN' )
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/result.h"

namespace loadprobe {

struct Label {
  std::string_view name;
  std::string value;  // unescaped
};

struct MetricLine {
  std::string_view name;
  std::vector<Label> labels;
  std::string_view value;  // a number, Inf or NaN; what may stand there is the metric's business
};

// The value of the first label of that name, or "".
std::string_view label(const MetricLine& line, std::string_view name);

// Reads one line without its LF; nothing for a blank one and a comment. Views point into `line`.
base::Result<std::optional<MetricLine>> parse_metric_line(std::string_view line);

enum class MetricKind { gauge, counter };

// Writes pages. A family is begun once and its samples follow.
class PageWriter {
 public:
  // `help` has no backslash and no line end.
  void family(std::string_view name, MetricKind kind, std::string_view help);
  void sample(double value, std::initializer_list<Label> labels = {});
  void sample(std::uint64_t value);
  std::string page() && { return std::move(page_); }

 private:
  std::string page_;
  std::string_view name_;
};

}  // namespace loadprobe
