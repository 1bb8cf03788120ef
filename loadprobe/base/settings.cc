// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text.
#include "loadprobe/base/settings.h"

#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <map>
#include <sstream>

#include "loadprobe/base/text.h"

namespace base {
namespace {

namespace options = boost::program_options;

std::string_view without_bom(std::string_view text) {
  constexpr std::string_view kBom = "\xEF\xBB\xBF";
  if (text.starts_with(kBom)) text.remove_prefix(kBom.size());
  return text;
}

bool is_stray_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7F;
}

// May throw options::error for a line that is neither a setting nor a section.
std::vector<Setting> read_with_boost(std::string_view text) {
  std::istringstream stream{std::string(text)};
  const options::options_description none_registered;
  constexpr bool kAllowUnregistered = true;
  const options::parsed_options parsed = options::parse_config_file(stream, none_registered, kAllowUnregistered);
  std::vector<Setting> list;
  list.reserve(parsed.options.size());
  for (const options::option& option : parsed.options) {
    list.push_back(Setting{option.string_key, option.value.empty() ? "" : option.value.front()});
  }
  return list;
}

bool has_key(const Setting& setting) { return !setting.key.empty() && setting.key.back() != '.'; }

std::string_view section_of(std::string_view line) {
  line = trim(line.substr(0, line.find('#')));
  return line.size() >= 2 && line.front() == '[' && line.back() == ']' ? line : std::string_view{};
}

// Boost never refuses an empty section name (it reads in front of the string's start) or control bytes.
bool is_suspicious(std::string_view text) {
  return text.find("[]") != std::string_view::npos || std::ranges::any_of(text, is_stray_control);
}

struct Line {
  std::optional<Setting> setting;
  std::string fault;  // "" if the line is well formed
};

Line read_line(std::string_view line, std::string_view section) {
  if (std::ranges::any_of(line, is_stray_control)) {
    return {std::nullopt, "found a control byte in '" + escaped(trim(line)) + "'; wanted text"};
  }
  const std::string_view text = trim(line.substr(0, line.find('#')));
  if (text == "[]") return {std::nullopt, "found an empty section name; wanted '[section]'"};
  if (text.empty() || !section_of(text).empty()) return {};
  const std::string wanted = "found '" + escaped(text) + "'; wanted 'key = value' or '[section]'";
  try {
    const std::vector<Setting> list = read_with_boost(std::string(section).append("\n").append(text));
    if (list.size() != 1 || !has_key(list.front())) return {std::nullopt, wanted};
    return {list.front(), ""};
  } catch (const options::error&) {
    return {std::nullopt, wanted};
  }
}

std::vector<Line> read_lines(std::string_view text) {
  std::vector<Line> lines;
  std::string_view section;
  for (const std::string_view line : split(without_bom(text), '\n')) {
    lines.push_back(read_line(line, section));
    if (lines.back().fault.empty() && !section_of(line).empty()) section = section_of(line);
  }
  return lines;
}

bool any_fault(const std::vector<Line>& lines) {
  return std::ranges::any_of(lines, [](const Line& line) { return !line.fault.empty(); });
}

}  // namespace

Result<Settings> parse_settings(std::string_view text, std::string file) {
  text = without_bom(text);
  if (is_suspicious(text) && any_fault(read_lines(text))) return all_faults(text, file, {});
  try {
    std::vector<Setting> list = read_with_boost(text);
    if (std::ranges::all_of(list, has_key)) return Settings{std::move(file), std::move(list)};
    return all_faults(text, file, {});
  } catch (const options::error&) {
    return all_faults(text, file, {});
  }
}

Settings sound_settings(std::string_view text, std::string file) {
  Settings settings{std::move(file), {}};
  for (const Line& line : read_lines(text)) {
    if (line.setting) settings.list.push_back(*line.setting);
  }
  return settings;
}

Error all_faults(std::string_view text, const std::string& file, const std::vector<SettingFault>& faults) {
  std::multimap<std::size_t, std::string_view> of_setting;
  for (const SettingFault& fault : faults) of_setting.emplace(fault.index, fault.what);
  std::string all;
  const auto add = [&all](const std::string& place, std::string_view what) {
    if (!all.empty()) all += '\n';
    all.append(place).append(": ").append(what);
  };
  std::size_t number = 0, index = 0;
  for (const Line& line : read_lines(text)) {
    const std::string place = file + ':' + std::to_string(++number);
    if (!line.fault.empty()) add(place, line.fault);
    if (!line.setting) continue;
    const auto [first, last] = of_setting.equal_range(index++);
    for (auto fault = first; fault != last; ++fault) add(place, fault->second);
  }
  // What names no setting that is there concerns the file as a whole.
  for (auto fault = of_setting.lower_bound(index); fault != of_setting.end(); ++fault) add(file, fault->second);
  return Error{Fault::usage, std::move(all)};
}

std::string unknown_key(std::string_view key, const std::vector<std::string_view>& known) {
  const std::size_t dot = key.find('.');
  const bool in_section = dot != std::string_view::npos;
  for (const std::string_view one : known) {
    if (in_section && one == key.substr(dot + 1)) {
      return "unknown key '" + escaped(key) + "': '" + std::string(one) + "' lines stand before the first [section]";
    }
    const std::size_t section = one.find('.');
    if (!in_section && section != std::string_view::npos && one.substr(section + 1) == key) {
      return "unknown key '" + escaped(key) + "': it belongs below [" + std::string(one.substr(0, section)) + "]";
    }
  }
  const std::string near = nearest(key, known);
  std::string what = "unknown key '" + escaped(key) + "'";
  if (!near.empty()) what += "; the nearest known one is '" + near + "'";
  return what;
}

}  // namespace base
