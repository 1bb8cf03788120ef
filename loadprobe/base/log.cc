// SPDX-License-Identifier: MIT
// Floor 3 and 4 only.
#include "loadprobe/base/log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "loadprobe/base/text.h"

namespace base {
namespace {

constexpr std::size_t kMostValueBytes = 1000;

struct Voice {
  std::string program;
  Level least = Level::info;
};

// The one process-wide thing here: whose lines these are. Written before threads start, read after.
Voice& voice() {
  static Voice the_voice;
  return the_voice;
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "";
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._:/+-[]%").find(c) != std::string_view::npos;
}

void append_value(std::string& line, std::string_view value) {
  bool plain = !value.empty() && value.size() <= kMostValueBytes;
  for (const char c : value) plain = plain && is_plain(c);
  if (plain) {
    line += value;
    return;
  }
  line += '"';
  // An apostrophe is harmless between double quotes, and our own sentences are full of them.
  std::string_view rest = value.substr(0, kMostValueBytes);
  for (std::size_t end = 0; !rest.empty(); rest.remove_prefix(end)) {
    end = rest.find('\'');
    line += escaped(rest.substr(0, end), kMostValueBytes);
    if (end == std::string_view::npos) break;
    line += '\'';
    ++end;
  }
  line += value.size() > kMostValueBytes ? "...\"" : "\"";
}

// A pipe or a socket that nobody reads any more would otherwise hold whoever logs, for ever.
bool takes_a_line() {
  pollfd interest{STDERR_FILENO, POLLOUT, 0};
  int ready = 0;
  do {
    ready = poll(&interest, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

}  // namespace

void log_as(std::string_view program, Level least) { voice() = Voice{std::string(program), least}; }

void log(Level level, std::string_view what, std::initializer_list<Field> fields) {
  if (level < voice().least) return;
  std::string line = voice().program;
  if (!line.empty()) line += ": ";
  line.append(name_of(level)).append(": ").append(what);
  for (const Field& field : fields) {
    line.append(" ").append(field.key).append("=");
    append_value(line, field.value);
  }
  constexpr std::size_t kMostLineBytes = PIPE_BUF;  // what a pipe that takes anything takes whole
  if (line.size() >= kMostLineBytes) line.resize(kMostLineBytes - 1);
  line += '\n';
  if (!takes_a_line()) return;
  while (::write(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace base
