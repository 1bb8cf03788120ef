// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/config_values.h"

#include "balance/ground/url.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

template <class T>
std::string read_duration_into(std::string_view value, DurationRange range, T& target) {
  const base::Result<base::Seconds> duration = base::duration(value);
  if (!duration) return ": " + duration.error().what;
  if (*duration < range.least || *duration > range.most) {
    return is_but(value, base::to_text(range.least) + " to " + base::to_text(range.most));
  }
  target = *duration;
  return "";
}

template <class T>
std::string read_whole_into(std::string_view value, WholeRange range, T& target) {
  const std::optional<std::uint64_t> number = base::whole_number(value);
  if (!number || *number < range.least || *number > range.most) {
    return is_but(value, std::to_string(range.least) + " to " + std::to_string(range.most));
  }
  target = static_cast<std::uint16_t>(*number);
  return "";
}

}  // namespace

std::string is_but(std::string_view found, std::string_view wanted) {
  return std::string(" is '").append(base::escaped(found)).append("'; wanted ").append(wanted);
}

std::string nearest_of(std::string_view word, const std::vector<std::string_view>& known) {
  if (!word.empty() && word.front() >= '0' && word.front() <= '9') return "";  // 302 is not meant to be 307
  const std::string near = base::nearest(word, known);
  return near.empty() ? "" : "; the nearest is '" + near + "'";
}

std::string is_none_of(std::string_view value, const std::vector<std::string_view>& names) {
  std::string wanted;
  for (const std::string_view& name : names) {
    if (!wanted.empty()) wanted += &name == &names.back() ? " or " : ", ";
    wanted += name;
  }
  return is_but(value, wanted) + nearest_of(value, names);
}

std::string read_duration(std::string_view value, DurationRange range, base::Seconds& target) {
  return read_duration_into(value, range, target);
}
std::string read_duration(std::string_view value, DurationRange range, std::optional<base::Seconds>& target) {
  return read_duration_into(value, range, target);
}

std::string read_size(std::string_view value, const SizeRange& range, std::uint64_t& target) {
  const base::Result<std::uint64_t> bytes = base::size_bytes(value);
  if (!bytes) return ": " + bytes.error().what;
  if (*bytes < range.least || *bytes > range.most) return is_but(value, range.text);
  target = *bytes;
  return "";
}

std::string read_whole(std::string_view value, WholeRange range, unsigned& target) {
  return read_whole_into(value, range, target);
}
std::string read_whole(std::string_view value, WholeRange range, std::optional<std::uint16_t>& target) {
  return read_whole_into(value, range, target);
}

std::string read_absolute_path(std::string_view value, std::string& target) {
  if (!value.starts_with('/')) return is_but(value, "an absolute path");
  target = value;
  return "";
}

std::string read_script_path(std::string_view value, std::string& target) {
  if (std::string fault = fault_of_path(value); !fault.empty()) return ": " + fault;
  while (value.size() > 1 && value.ends_with('/')) value.remove_suffix(1);
  target = value;
  return "";
}

std::vector<std::string_view> list_of(std::string_view value) {
  std::vector<std::string_view> list;
  for (const std::string_view piece : base::split(value, ',')) {
    for (const std::string_view word : base::words(piece)) list.push_back(word);
  }
  return list;
}

}  // namespace balance
