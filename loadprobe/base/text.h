// SPDX-License-Identifier: MIT
// Reading and writing small pieces of text without a locale: numbers, durations, sizes, lists, keys.
// Floor 1: pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace base {

// ASCII only: MapServer, HTTP and host names compare this way whatever the locale says.
char lower(char c);
std::string lower(std::string_view text);
bool same_ignoring_case(std::string_view a, std::string_view b);

// Without white space (space, tab, CR, LF) at both ends.
std::string_view trim(std::string_view text);

// The pieces between separators; "" gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
// The words between runs of spaces and tabs; "" gives none.
std::vector<std::string_view> words(std::string_view text);

// The whole text as a finite decimal number ('1', '-0.5', '3e2'; no sign '+', no hex, inf or nan), else nothing.
std::optional<double> number(std::string_view text);
// The whole text as an unsigned whole number, else nothing (overflow too).
std::optional<std::uint64_t> whole_number(std::string_view text);

// '250ms', '2s', '1.5m', '1h', '1d': a number and its unit, 0 to 366 days. The error says what was found and wanted.
Result<Seconds> duration(std::string_view text);
// '64MB', '1kB', '300': bytes; kB, MB, GB are powers of 1024.
Result<std::uint64_t> size_bytes(std::string_view text);

// Shortest text that reads back as the same number ('0.25', '3').
std::string to_text(double number);
// With the largest unit that keeps it whole: '250ms', '2s', '10m'.
std::string to_text(Seconds duration);

// The known word nearest to `word` (Damerau-Levenshtein distance at most 1 + length / 4), or "" if none is near.
std::string nearest(std::string_view word, std::span<const std::string_view> known);

// Client's bytes as they may stand in a log line or terminal: controls, double quotes, backslash and bytes above 0x7E
// as \xNN, and cut after `most_bytes` with '...'.
std::string escaped(std::string_view text, std::size_t most_bytes = 200);

// Foreign text as people may see it on a page or a terminal: UTF-8 without controls, bidirectional overrides and
// invalid bytes (each becomes '?', line ends and tabs a space), trimmed and cut to `most_bytes` between characters.
std::string printable(std::string_view text, std::size_t most_bytes);

// FNV-1a, 64 bits: a fingerprint, no defence against an adversary.
std::uint64_t fingerprint(std::string_view text);

}  // namespace base
