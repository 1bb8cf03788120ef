// SPDX-License-Identifier: MIT
// What was set by hand: text to entries and back. Floor 1.
#include "balance/ground/hand_file.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <set>

#include "balance/ground/config_draft.h"
#include "balance/ground/config_values.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using loadprobe::Duty;

constexpr std::size_t kMostEntries = 10'000;         // ten times the hosts of the largest pool
constexpr std::int64_t kMostSeconds = 253402300799;  // 9999-12-31T23:59:59Z

// Digits alone, as many as there are.
std::optional<int> digits(std::string_view text) {
  const bool all = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const std::optional<std::uint64_t> number = all ? base::whole_number(text) : std::nullopt;
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

std::string two_digits(unsigned number) { return (number < 10 ? "0" : "") + std::to_string(number); }

// One line while it is read.
class Line {
 public:
  // `known`: the hosts that have a line.
  Line(HandText& out, std::set<std::string, std::less<>>& known, std::string place)
      : out_(out), known_(known), place_(std::move(place)) {}

  std::size_t faults_left_out() const { return left_out_; }

  void read(std::string_view line) {
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    if (!is_host_name(name)) {
      return fault("found '" + base::escaped(name, 70) + "'; wanted the name of a host");
    }
    if (known_.contains(name)) {
      return fault(std::string(name) + " has a line already; wanted one line a host, the first counts");
    }
    if (known_.size() >= kMostEntries) {
      return fault("found the line of another host; wanted at most " + std::to_string(kMostEntries) + " of them");
    }
    known_.emplace(name);
    entry_.host = name;
    line.remove_prefix(name.size());
    for (line = base::trim(line); !line.empty(); line = base::trim(line)) line = read_word(line);
    out_.entries.push_back(std::move(entry_));
  }

 private:
  // What is left of the line.
  std::string_view read_word(std::string_view rest) {
    constexpr std::string_view kReason = "reason=";
    if (rest.starts_with(kReason)) {
      entry_.reason = hand_reason(rest.substr(kReason.size()));
      return {};
    }
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    read_value(word.substr(0, equals), value);
    return rest.substr(word.size());
  }

  void read_value(std::string_view name, std::string_view value) {
    if (name == "weight") return read_weight(value);
    if (name == "duty") return read_duty(value);
    if (name == "since") return read_time(name, value, entry_.since);
    if (name == "until") return read_time(name, value, entry_.until);
    if (name == "boot") return read_boot(value);
    if (name == "booted") return read_time(name, value, entry_.booted);
    fault("found '" + base::escaped(name, 70) + "'; wanted weight=, duty=, since=, until= or reason=");
  }

  void read_weight(std::string_view value) {
    const base::Result<double> weight = hand_weight(value);
    if (!weight) return fault("weight " + weight.error().what);
    entry_.weight = *weight;
  }

  void read_duty(std::string_view value) {
    const std::optional<Duty> duty = loadprobe::duty_named(value);
    if (!duty) return fault("duty" + is_but(value, "draining, off or serving"));
    entry_.duty = *duty;
  }

  void read_boot(std::string_view value) {
    constexpr std::string_view kLetters = "0123456789abcdef-";
    if (value.empty() || value.size() > 36 || value.find_first_not_of(kLetters) != std::string_view::npos) {
      return fault("boot" + is_but(value, "the id of a boot, or its first letters"));
    }
    entry_.boot = value;
  }

  void read_time(std::string_view name, std::string_view value, std::optional<std::int64_t>& target) {
    const std::optional<std::int64_t> seconds = utc_seconds(value);
    if (!seconds) return fault(std::string(name) + is_but(value, "a time such as 2026-11-30T13:00:00Z"));
    target = seconds;
  }

  void fault(const std::string& what) {
    if (out_.faults.size() < kMostNamed) {
      out_.faults.push_back(place_ + what);
    } else {
      ++left_out_;
    }
  }

  HandText& out_;
  std::set<std::string, std::less<>>& known_;
  std::string place_;
  std::size_t left_out_ = 0;
  HandEntry entry_;
};

}  // namespace

bool says_anything(const HandEntry& entry) {
  return entry.weight || entry.duty != Duty::serving || !entry.reason.empty();
}

void forget_duty(HandEntry& entry) {
  entry.duty = Duty::serving;
  entry.since = entry.until = entry.booted = std::nullopt;
  entry.boot.clear();
  entry.reason.clear();
}

void bring_up_to_date(HandEntry& entry, const HandClocks& now) {
  if (!entry.until) return;
  const std::int64_t lasts = entry.since ? *entry.until - *entry.since : 0;
  std::int64_t shift = 0;
  if (entry.booted && !entry.boot.empty() && entry.boot == now.boot) {
    shift = now.booted - *entry.booted;
  } else if (lasts > 0 && *entry.until > now.wall + lasts) {
    shift = now.wall + lasts - *entry.until;
  }
  entry.until = std::clamp(*entry.until + shift, std::int64_t{0}, kMostSeconds);
  if (entry.since) entry.since = std::clamp(*entry.since + shift, std::int64_t{0}, kMostSeconds);
  entry.boot = now.boot;
  entry.booted = now.boot.empty() ? std::nullopt : std::optional(std::clamp(now.booted, std::int64_t{0}, kMostSeconds));
}

HandText parse_hand_text(std::string_view text, const std::string& file) {
  HandText out;
  std::set<std::string, std::less<>> known;
  std::size_t number = 0, left_out = 0;
  for (const std::string_view raw : base::split(text, '\n')) {
    ++number;
    const std::string_view line = base::trim(raw);
    if (line.empty() || line.front() == '#') continue;
    Line reading(out, known, file + ":" + std::to_string(number) + ": ");
    reading.read(line);
    left_out += reading.faults_left_out();
  }
  if (left_out > 0) out.faults.push_back(file + ": and " + std::to_string(left_out) + " more of the kind");
  return out;
}

std::string hand_text_of(const std::vector<HandEntry>& entries, std::string_view config) {
  std::string text =
      "# What was set by hand for the hosts of " + base::escaped(config, 4096) +
      ".\n# Written by balancectl: 'balancectl weight', 'drain', 'off', 'ready' and 'reset' change it.\n";
  for (const HandEntry& entry : entries) {
    std::string line = entry.host;
    if (!says_anything(entry)) continue;
    if (entry.weight) line += " weight=" + base::to_text(*entry.weight);
    if (entry.duty != Duty::serving || !entry.reason.empty()) line += " duty=" + std::string(name_of(entry.duty));
    if (entry.since) line += " since=" + utc_text(*entry.since);
    if (entry.until) line += " until=" + utc_text(*entry.until);
    if (!entry.boot.empty()) line += " boot=" + entry.boot;
    if (entry.booted) line += " booted=" + utc_text(*entry.booted);
    if (!entry.reason.empty()) line += " reason=" + hand_reason(entry.reason);
    text += line + "\n";
  }
  return text;
}

base::Result<double> hand_weight(std::string_view word) {
  constexpr double kMost = 1000, kMillion = 1e6;
  const std::optional<double> weight = base::number(word);
  const auto refuse = [&] {
    return base::Error{base::Fault::usage, "is '" + base::escaped(word, 70) +
                                               "'; wanted 0 to 1000, with at most six digits behind the point"};
  };
  if (!weight || *weight < 0 || *weight > kMost) return refuse();
  // Both are the nearest to what was written, so one with six digits comes back as it was; near it is not enough, or
  // 1e-9 would be 0, which drains.
  const double rounded = std::round(*weight * kMillion) / kMillion;
  if (rounded != *weight) return refuse();
  return std::fabs(rounded);  // no -0
}

// Twice: a cut may leave a blank at the end, which is trimmed when the text is read again.
std::string hand_reason(std::string_view text) {
  return base::printable(base::printable(text, kMostReasonBytes), kMostReasonBytes);
}

std::string utc_text(std::int64_t seconds) {
  using std::chrono::days;
  const std::chrono::sys_seconds time{std::chrono::seconds{std::clamp(seconds, std::int64_t{0}, kMostSeconds)}};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return std::to_string(static_cast<int>(date.year())) + "-" + two_digits(static_cast<unsigned>(date.month())) + "-" +
         two_digits(static_cast<unsigned>(date.day())) + "T" +
         two_digits(static_cast<unsigned>(clock.hours().count())) + ":" +
         two_digits(static_cast<unsigned>(clock.minutes().count())) + ":" +
         two_digits(static_cast<unsigned>(clock.seconds().count())) + "Z";
}

std::optional<std::int64_t> utc_seconds(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] != 'd' && text[i] != kForm[i]) return std::nullopt;
  }
  std::array<int, 6> parts{};
  constexpr std::array<std::pair<std::size_t, std::size_t>, 6> kPlaces{
      {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<int> part = digits(text.substr(kPlaces[i].first, kPlaces[i].second));
    if (!part) return std::nullopt;
    parts[i] = *part;
  }
  const std::chrono::year_month_day date{std::chrono::year{parts[0]},
                                         std::chrono::month{static_cast<unsigned>(parts[1])},
                                         std::chrono::day{static_cast<unsigned>(parts[2])}};
  if (!date.ok() || parts[0] < 1970 || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch().count() * std::int64_t{86400} + std::int64_t{parts[3]} * 3600 +
         std::int64_t{parts[4]} * 60 + parts[5];
}

}  // namespace balance
