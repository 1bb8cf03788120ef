// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text, any thread.
#include "loadprobe/exposition.h"

#include <algorithm>
#include <utility>

#include "loadprobe/base/text.h"

namespace loadprobe {
namespace {

using base::Error;
using base::Fault;
using base::Result;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

void skip_blanks(std::string_view& rest) { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); }

bool take(std::string_view& rest, char wanted) {
  if (rest.empty() || rest.front() != wanted) return false;
  rest.remove_prefix(1);
  return true;
}

// A name from the front of `rest`, "" if there is none.
std::string_view take_name(std::string_view& rest) {
  std::size_t size = 0;
  while (size < rest.size() && (is_letter(rest[size]) || rest[size] == ':' || (size > 0 && is_digit(rest[size]))))
    ++size;
  const std::string_view name = rest.substr(0, size);
  rest.remove_prefix(size);
  return name;
}

// What stands up to the next blank.
std::string_view take_word(std::string_view& rest) {
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(word.size());
  skip_blanks(rest);
  return word;
}

Error unlike(std::string_view found, std::string_view wanted) {
  return Error{Fault::input, "found '" + base::escaped(found, 60) + "'; wanted " + std::string(wanted)};
}

Result<std::string> take_label_value(std::string_view& rest) {
  const std::string_view whole = rest;
  if (!take(rest, '"')) return unlike(whole, "a label's value in quotes");
  std::string value;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return value;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (take(rest, 'n')) {
      value += '\n';
    } else if (!rest.empty() && (rest.front() == '\\' || rest.front() == '"')) {
      value += rest.front();
      rest.remove_prefix(1);
    } else {
      return unlike(whole, "only \\\\, \\\" and \\n behind a backslash");
    }
  }
  return unlike(whole, "a label's value that ends");
}

// What stands between braces; the opening one is taken already.
Result<std::vector<Label>> take_labels(std::string_view& rest) {
  std::vector<Label> labels;
  for (;;) {
    skip_blanks(rest);
    if (take(rest, '}')) return labels;
    const std::string_view name = take_name(rest);
    skip_blanks(rest);
    if (name.empty() || !take(rest, '=')) return unlike(rest, "a label, as in cpu=\"0\"");
    skip_blanks(rest);
    Result<std::string> value = take_label_value(rest);
    if (!value) return value.error();
    labels.push_back(Label{name, *std::move(value)});
    skip_blanks(rest);
    if (!take(rest, ',') && !rest.starts_with('}')) return unlike(rest, "',' or '}' behind a label");
  }
}

bool is_value(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (base::number(text)) return true;
  if (text.starts_with('-')) text.remove_prefix(1);
  return base::same_ignoring_case(text, "inf") || base::same_ignoring_case(text, "nan");
}

void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
  }
}

}  // namespace

std::string_view label(const MetricLine& line, std::string_view name) {
  for (const Label& one : line.labels) {
    if (one.name == name) return one.value;
  }
  return {};
}

Result<std::optional<MetricLine>> parse_metric_line(std::string_view line) {
  std::string_view rest = line;
  skip_blanks(rest);
  if (rest.empty() || rest.front() == '#') return std::optional<MetricLine>{};
  MetricLine metric{take_name(rest), {}, {}};
  if (metric.name.empty()) return unlike(rest, "the name of a metric");
  skip_blanks(rest);
  if (take(rest, '{')) {
    Result<std::vector<Label>> labels = take_labels(rest);
    if (!labels) return std::move(labels).error().at(std::string(metric.name));
    metric.labels = *std::move(labels);
    skip_blanks(rest);
  } else if (rest.data() == metric.name.data() + metric.name.size()) {
    return unlike(line, "a metric: name, labels, value");
  }
  metric.value = take_word(rest);
  if (!is_value(metric.value)) return unlike(metric.value, "a number").at(std::string(metric.name));
  const std::string_view time = rest.starts_with('#') ? std::string_view{} : take_word(rest);
  const bool ends_well = (time.empty() || base::number(time)) && (rest.empty() || rest.front() == '#');
  if (!ends_well) return unlike(line, "nothing but a time stamp behind the value").at(std::string(metric.name));
  return std::optional<MetricLine>(std::move(metric));
}

void PageWriter::family(std::string_view name, MetricKind kind, std::string_view help) {
  name_ = name;
  page_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  page_ += kind == MetricKind::counter ? " counter\n" : " gauge\n";
}

void PageWriter::sample(double value, std::initializer_list<Label> labels) {
  page_ += name_;
  char opening = '{';
  for (const Label& one : labels) {
    page_.append(1, opening).append(one.name).append("=\"");
    append_escaped(page_, one.value);
    page_ += '"';
    opening = ',';
  }
  if (labels.size() > 0) page_ += '}';
  page_.append(" ").append(base::to_text(value)).append("\n");
}

void PageWriter::sample(std::uint64_t value) {
  page_.append(name_).append(" ").append(std::to_string(value)).append("\n");
}

}  // namespace loadprobe
