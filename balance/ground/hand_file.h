// SPDX-License-Identifier: MIT
// The file that keeps what was set by hand, as text: one line a host, the name and then words in any order.
// Floor 1: values and pure functions, any thread.
//
//   # a comment
//   pinchot weight=2.5
//   leopold duty=draining since=2026-11-30T11:00:00Z until=2026-11-30T13:00:00Z boot=3f2a9c81
//     booted=2026-11-28T07:15:00Z reason=kernel update                                           (one line)
//
// duty: draining, off, or serving for one that was made ready with a reason. since, until: UTC, of the duty and its
// reason. boot, booted: the boot in which these were written, and when it began by the clock of that moment; within
// this boot a clock that is set moves no end. reason: the rest of the line, at most 200 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/result.h"
#include "loadprobe/report.h"

namespace balance {

struct HandEntry {
  std::string host = {};
  std::optional<double> weight = {};  // 0 to 1000, at most six digits behind the point
  loadprobe::Duty duty = loadprobe::Duty::serving;
  std::optional<std::int64_t> since = {}, until = {};  // of the duty, seconds since 1970
  std::string boot = {};                               // "": not known, as where people wrote the line
  std::optional<std::int64_t> booted = {};
  std::string reason = {};  // printable
  friend bool operator==(const HandEntry&, const HandEntry&) = default;
};

inline constexpr std::size_t kMostReasonBytes = 200;
inline constexpr std::size_t kMostNamed = 5;  // of faults and the like; of the rest their number is told

// The clocks of one moment: seconds since 1970, and the boot as of HandEntry.
struct HandClocks {
  std::int64_t wall = 0;
  std::string boot;  // "": cannot be told
  std::int64_t booted = 0;
};
// Puts an entry's times into the wall clock of now, and its boot. In the boot that wrote it the time that is left
// counts, however the clock was set since. After another boot the wall clock counts; but one that is behind, as where
// no battery keeps it, gives no more time than the duty was to last.
void bring_up_to_date(HandEntry& entry, const HandClocks& now);

bool says_anything(const HandEntry& entry);
// All but the weight.
void forget_duty(HandEntry& entry);

struct HandText {
  std::vector<HandEntry> entries;  // in the order of the text, a host once
  // 'FILE:LINE: what was found; what was wanted'; above kMostNamed a last one that tells how many more there are.
  std::vector<std::string> faults;
};

// Takes what can be understood and names the rest; what is wrong with one word costs that word alone, so a host whose
// `until` cannot be read stays drained. Never fails.
HandText parse_hand_text(std::string_view text, const std::string& file);

// The whole file. An entry that says nothing gets no line. `config` is the configuration's path, for a comment.
std::string hand_text_of(const std::vector<HandEntry>& entries, std::string_view config);

// A weight as one may be set by hand: '0', '2.5'. The error is the end of a sentence: "is 'x'; wanted ...".
base::Result<double> hand_weight(std::string_view word);
// Without anything that would end a line or hide on a terminal.
std::string hand_reason(std::string_view text);

// '2026-11-30T13:00:00Z' of seconds since 1970, and back; years 1970 to 9999.
std::string utc_text(std::int64_t seconds);
std::optional<std::int64_t> utc_seconds(std::string_view text);

}  // namespace balance
