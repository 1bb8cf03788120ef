// SPDX-License-Identifier: MIT
// One line a transition, on standard error: 'poolwatch: warning: host down host=darwin cause="connection refused"'.
// Floor 3 and 4 only. Any thread; a line is one write(2), and is lost where that would wait for a reader.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace base {

enum class Level { debug, info, warning, error };

struct Field {
  std::string_view key;
  std::string value;
};

// The program's name in front of every line, and the least level that is written (default info).
// Call once, before threads start.
void log_as(std::string_view program, Level least = Level::info);

// `what` is a fixed phrase. Values with anything but letters, digits and ._:/+-[]% are put in quotes, escaped.
void log(Level level, std::string_view what, std::initializer_list<Field> fields = {});

}  // namespace base
