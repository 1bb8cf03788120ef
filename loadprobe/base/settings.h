// SPDX-License-Identifier: MIT
// A configuration file as a list of settings, read with Boost.Program_options' parser: 'key = value' lines,
// '[section]' lines that prefix the keys below them with 'section.', '#' ends a line anywhere, a BOM is skipped.
// What the keys mean is the reader's business (balance/ground/config.h, loadprobe/probe_config.h).
// Floor 1: pure functions over text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/result.h"

namespace base {

struct Setting {
  std::string key;    // 'probe.interval'
  std::string value;  // trimmed
};

struct Settings {
  std::string file;           // as it is named in messages
  std::vector<Setting> list;  // in the order of the file; a key may come several times
};

// A fault found in one setting (its index in Settings::list) by whoever gave it its meaning.
struct SettingFault {
  std::size_t index = 0;
  std::string what;  // what was found and wanted, without the place
};

// Reads the whole text at once, fast, without line numbers. A fault of form gives the error of all_faults().
Result<Settings> parse_settings(std::string_view text, std::string file);

// The settings of the well-formed lines alone, with their indices as all_faults() counts them: for a reader who lists
// the faults of meaning together with those of form.
Settings sound_settings(std::string_view text, std::string file);

// The slow path: reads `text` again line by line and returns one error that lists every fault, one per line, in the
// order of the file, each with 'file:line: ' in front: the faults of form, and those of `faults` at their settings'
// lines. A fault whose index is past the last setting is one of the file as a whole, and comes last ('file: ').
Error all_faults(std::string_view text, const std::string& file, const std::vector<SettingFault>& faults);

// "unknown key 'wieght'; the nearest known one is 'weight'"; where only the section is wrong or missing, that.
std::string unknown_key(std::string_view key, const std::vector<std::string_view>& known);

}  // namespace base
