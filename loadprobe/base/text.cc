// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "loadprobe/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace base {
namespace {

constexpr double kMostSeconds = 366.0 * 86400;

struct Unit {
  std::string_view name;
  double seconds;
};
// From the largest down: to_text takes the first that fits.
constexpr std::array<Unit, 5> kUnits{{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 0.001}}};

// Where the unit behind a number begins.
std::size_t unit_start(std::string_view text) {
  const std::size_t last_of_number = text.find_last_of("0123456789.");
  return last_of_number == std::string_view::npos ? 0 : last_of_number + 1;
}

std::string quoted(std::string_view text) {
  std::string out(1, '\'');
  out += escaped(text);
  return out += '\'';
}

// Optimal string alignment distance: insert, delete, replace, swap of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

// The character that `text` begins with: its code point and its length in bytes, {'?', 1} for an invalid byte.
struct Character {
  char32_t code;
  std::size_t bytes;
};
Character first_character(std::string_view text) {
  constexpr Character kInvalid{U'?', 1};
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return kInvalid;
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return kInvalid;
    code = code << 6 | (next & 0x3FU);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? kInvalid : Character{code, bytes};
}

bool is_printable(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool turns_text = (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x200E ||
                          code == 0x200F || code == 0xFEFF;
  const bool character = (code & 0xFFFEU) != 0xFFFE;  // U+FFFE and its like are none, and XML refuses them
  return !control && !turns_text && character;
}

}  // namespace

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhite) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  std::vector<std::string_view> found;
  for (std::size_t start = text.find_first_not_of(kBlank); start != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, start), text.size());
    found.push_back(text.substr(start, end - start));
    start = text.find_first_not_of(kBlank, end);
  }
  return found;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc{} || stop != end) return std::nullopt;
  return value;
}

Result<Seconds> duration(std::string_view text) {
  const std::size_t start = unit_start(text);
  const std::optional<double> amount = number(text.substr(0, start));
  for (const Unit& unit : kUnits) {
    if (!amount || text.substr(start) != unit.name) continue;
    const double seconds = *amount * unit.seconds;
    if (*amount >= 0 && seconds <= kMostSeconds) return Seconds{seconds};
    return Error{Fault::usage, quoted(text) + " is out of range; wanted 0s to 366d"};
  }
  return Error{Fault::usage, quoted(text) + " is no duration; wanted a number and ms, s, m, h or d, as in '250ms'"};
}

Result<std::uint64_t> size_bytes(std::string_view text) {
  struct Scale {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr std::array<Scale, 5> kScales{
      {{"", 1}, {"B", 1}, {"kB", 1ULL << 10}, {"MB", 1ULL << 20}, {"GB", 1ULL << 30}}};
  const std::size_t start = unit_start(text);
  const std::optional<std::uint64_t> amount = whole_number(text.substr(0, start));
  for (const Scale& scale : kScales) {
    if (!amount || text.substr(start) != scale.name) continue;
    if (*amount <= std::numeric_limits<std::uint64_t>::max() / scale.bytes) return *amount * scale.bytes;
    return Error{Fault::usage, quoted(text) + " is too large; wanted less than 2^64 bytes"};
  }
  return Error{Fault::usage,
               quoted(text) + " is no size; wanted a whole number and nothing, kB, MB or GB, as in '64MB'"};
}

std::string to_text(double number) {
  std::array<char, 64> buffer{};
  // The shortest form of 100000 is 1e+05: right for machines, odd for people.
  const double size = std::abs(number);
  const bool ordinary = size == 0 || (size >= 1e-5 && size < 1e16);
  char* begin = buffer.data();
  char* end = begin + buffer.size();
  const auto result =
      ordinary ? std::to_chars(begin, end, number, std::chars_format::fixed) : std::to_chars(begin, end, number);
  return std::string(begin, result.ptr);
}

std::string to_text(Seconds duration) {
  if (duration.count() == 0) return "0s";
  for (const Unit& unit : kUnits) {
    const double amount = duration.count() / unit.seconds;
    const double nearest_whole = std::round(amount);
    if (nearest_whole != 0 && std::abs(amount - nearest_whole) < 1e-9 * std::abs(nearest_whole)) {
      return to_text(nearest_whole).append(unit.name);
    }
  }
  return to_text(duration.count() * 1000) + "ms";
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kLongestWord = 100;
  if (word.size() > kLongestWord) return "";
  std::size_t least = 2 + word.size() / 4;
  std::string_view best;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

std::string escaped(std::string_view text, std::size_t most_bytes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text.substr(0, most_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7E && c != '"' && c != '\\') {
      out += c;
    } else {
      out.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    }
  }
  return text.size() > most_bytes ? out + "..." : out;
}

std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string out;
  for (text = trim(text); !text.empty();) {
    const auto [code, bytes] = first_character(text);
    const bool blank = code == '\t' || code == '\n' || code == '\r';
    const std::string_view shown = blank ? " " : is_printable(code) ? text.substr(0, bytes) : "?";
    // An invalid byte reads as '?', and must be shown as that.
    const bool invalid = code == '?' && text.front() != '?';
    if (out.size() + shown.size() > most_bytes) break;
    out += invalid ? "?" : shown;
    text.remove_prefix(bytes);
  }
  return out;
}

std::uint64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace base
