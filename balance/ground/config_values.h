// SPDX-License-Identifier: MIT
// Readers of the kinds of values that several keys of balance.conf have. All keep one promise: a sound value goes to
// `target`, and the answer is ""; of another one the answer is what was found and what was wanted, as it stands behind
// the key's name (" is 'x'; wanted 1 to 64", ": ..."), and `target` stays as it was.
// Floor 1: pure functions, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/time.h"

namespace balance {

// " is 'x'; wanted 1 to 64".
std::string is_but(std::string_view found, std::string_view wanted);
// "; the nearest is 'auto'", or "".
std::string nearest_of(std::string_view word, const std::vector<std::string_view>& known);

// --- one of a few words ---
// A word of the file and what it means.
template <class T>
struct Named {
  std::string_view name;
  T value;
};

// " is 'autp'; wanted auto, redirect or relay; the nearest is 'auto'".
std::string is_none_of(std::string_view value, const std::vector<std::string_view>& names);

template <class T, std::size_t N>
std::string read_choice(std::string_view value, const std::array<Named<T>, N>& choices, T& target) {
  const auto* found = std::ranges::find(choices, value, &Named<T>::name);
  if (found != choices.end()) {
    target = found->value;
    return "";
  }
  std::vector<std::string_view> names;
  names.reserve(N);
  for (const Named<T>& choice : choices) names.push_back(choice.name);
  return is_none_of(value, names);
}

// The word for a value, "" if there is none.
template <class T, std::size_t N>
std::string_view name_in(const std::array<Named<T>, N>& choices, T value) {
  const auto* found = std::ranges::find(choices, value, &Named<T>::value);
  return found == choices.end() ? std::string_view{} : found->name;
}

// --- numbers with a unit, from least to most ---
struct DurationRange {
  base::Seconds least, most;
};
std::string read_duration(std::string_view value, DurationRange range, base::Seconds& target);
std::string read_duration(std::string_view value, DurationRange range, std::optional<base::Seconds>& target);

struct SizeRange {
  std::uint64_t least, most;  // bytes
  std::string_view text;      // '1kB to 64GB'
};
std::string read_size(std::string_view value, const SizeRange& range, std::uint64_t& target);

// --- whole numbers, from least to most ---
struct WholeRange {
  std::uint16_t least, most;
};
std::string read_whole(std::string_view value, WholeRange range, unsigned& target);
std::string read_whole(std::string_view value, WholeRange range, std::optional<std::uint16_t>& target);

// --- paths ---
// A file or folder of this machine, from '/'.
std::string read_absolute_path(std::string_view value, std::string& target);
// Where a script is mapped, '/cgi-bin/mapserv'; '/' at its end does not count.
std::string read_script_path(std::string_view value, std::string& target);

// --- lists ---
// Words between blanks and commas.
std::vector<std::string_view> list_of(std::string_view value);

}  // namespace balance
