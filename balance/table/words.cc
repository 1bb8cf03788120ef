// SPDX-License-Identifier: MIT
// Packing and checking of the table's words.
#include "balance/table/words.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace balance {
namespace {

constexpr std::uint64_t kMark = 0x53AD;  // in the high 16 bits of a slot's first word: it was filled
constexpr std::uint64_t kMissing = ~std::uint64_t{0};
constexpr double kLongestSeconds = 1e10;       // instants lie within it: kNever is -1e9
constexpr double kMostTasks = 1e7;             // tasks and requests
constexpr double kGreatestVirtualTime = 1e12;  // above it a turn's step of 1e-4 would be lost

enum At : std::size_t {  // of a host's slot
  kFlags,
  kReported,
  kWebAnswered,
  kUpSince,
  kChanged,
  kCores,
  kBackground,
  kService,
  kRunning,
  kWaiting,
  kLoad1,
  kMapRunning,
  kCause,
};
constexpr std::size_t kCauseWords = 14;
static_assert(kCause == kHostFigures);
static_assert(kCause + kCauseWords <= layout::kHostWords && kMostCauseBytes < kCauseWords * 8);

enum PoolAt : std::size_t { kPoolFlags, kBeat, kStarted, kPoolService, kShare, kCapacity, kMedianCores };
static_assert(kMedianCores < layout::kPoolWords);

constexpr std::uint64_t kProbeRefused = std::uint64_t{1} << 32;  // in a host's flags
constexpr std::uint64_t kPanic = 1, kWebOnly = 2;                // in the pool's

std::uint64_t bits(double number) { return std::bit_cast<std::uint64_t>(number); }
std::uint64_t bits(Instant instant) { return bits(instant.time_since_epoch().count()); }
std::uint64_t bits(const std::optional<double>& number) { return number ? bits(*number) : kMissing; }

// Reads checked values; one that fails spoils the whole.
class Reader {
 public:
  double number(std::uint64_t word, double least, double most) {
    const double value = std::bit_cast<double>(word);
    const bool sane = value >= least && value <= most;  // false for NaN
    spoiled_ = spoiled_ || !sane;
    return sane ? value : least;
  }
  Instant instant(std::uint64_t word) { return Instant{Seconds{number(word, -kLongestSeconds, kLongestSeconds)}}; }
  std::optional<double> optional(std::uint64_t word) {
    if (word == kMissing) return std::nullopt;
    return number(word, 0, kMostTasks);
  }
  template <class Enum>
  Enum one_of(std::uint64_t word, unsigned shift, Enum last) {
    const std::uint64_t value = (word >> shift) & 0xFF;
    const bool known = value <= static_cast<std::uint64_t>(last);
    spoiled_ = spoiled_ || !known;
    return known ? static_cast<Enum>(value) : Enum{};
  }
  void require(bool fact) { spoiled_ = spoiled_ || !fact; }
  bool spoiled() const { return spoiled_; }

 private:
  bool spoiled_ = false;
};

bool is_printable(char c) { return c >= 0x20 && c <= 0x7E; }

std::size_t cause_bytes(std::uint64_t flags) { return flags >> 24 & 0xFF; }

std::string cause_of(const HostWords& words, Reader& reader) {
  const std::size_t length = cause_bytes(words[kFlags]);
  reader.require(length <= kMostCauseBytes);
  if (reader.spoiled()) return {};
  std::string cause(length, '\0');
  for (std::size_t i = 0; i < length; ++i) {
    cause[i] = static_cast<char>((words[kCause + i / 8] >> (i % 8 * 8)) & 0x7F);
    reader.require(is_printable(cause[i]) && ((words[kCause + i / 8] >> (i % 8 * 8)) & 0x80) == 0);
  }
  return cause;
}

}  // namespace

bool has_cause(const HostWords& words) { return cause_bytes(words[kFlags]) > 0; }

HostWords to_words(const Standing& standing) {
  HostWords words{};
  const std::size_t length = std::min(standing.cause.size(), kMostCauseBytes);
  words[kFlags] = kMark << 48 | (standing.probe_refused ? kProbeRefused : 0) | length << 24 |
                  static_cast<std::uint64_t>(standing.web) << 16 | static_cast<std::uint64_t>(standing.duty) << 8 |
                  static_cast<std::uint64_t>(standing.health);
  words[kReported] = bits(standing.reported);
  words[kWebAnswered] = bits(standing.web_answered);
  words[kUpSince] = bits(standing.up_since);
  words[kChanged] = bits(standing.changed);
  words[kCores] = bits(standing.cores);
  words[kBackground] = bits(standing.background);
  words[kService] = bits(standing.mean_service_seconds);
  words[kRunning] = bits(standing.running);
  words[kWaiting] = bits(standing.waiting);
  words[kLoad1] = bits(standing.load1);
  words[kMapRunning] = bits(standing.map_running);
  for (std::size_t i = 0; i < length; ++i) {
    const char c = is_printable(standing.cause[i]) ? standing.cause[i] : '?';
    words[kCause + i / 8] |= static_cast<std::uint64_t>(c) << (i % 8 * 8);
  }
  return words;
}

PoolWords to_words(const PoolStanding& pool) {
  PoolWords words{};
  words[kPoolFlags] = kMark << 48 | (pool.panic ? kPanic : 0) | (pool.web_only ? kWebOnly : 0);
  words[kBeat] = bits(pool.beat);
  words[kStarted] = bits(pool.started);
  words[kPoolService] = bits(pool.mean_service_seconds);
  words[kShare] = bits(pool.share);
  words[kCapacity] = bits(pool.greatest_capacity);
  words[kMedianCores] = bits(pool.median_cores);
  return words;
}

std::optional<Standing> standing_of(const HostWords& words) {
  Reader reader;
  std::optional<Standing> result(std::in_place);
  Standing& standing = *result;
  reader.require(words[kFlags] >> 48 == kMark);
  standing.health = reader.one_of(words[kFlags], 0, Health::wrong);
  standing.duty = reader.one_of(words[kFlags], 8, Duty::off);
  standing.web = reader.one_of(words[kFlags], 16, WebPort::silent);
  reader.require((words[kFlags] >> 33 & 0x7FFF) == 0);
  standing.probe_refused = (words[kFlags] & kProbeRefused) != 0;
  standing.reported = reader.instant(words[kReported]);
  standing.web_answered = reader.instant(words[kWebAnswered]);
  standing.up_since = reader.instant(words[kUpSince]);
  standing.changed = reader.instant(words[kChanged]);
  standing.cores = reader.number(words[kCores], 0, 65536);
  standing.background = reader.number(words[kBackground], -kMostTasks, kMostTasks);
  standing.mean_service_seconds = reader.number(words[kService], 1e-9, 1e7);
  standing.running = reader.optional(words[kRunning]);
  standing.waiting = reader.optional(words[kWaiting]);
  standing.load1 = reader.optional(words[kLoad1]);
  standing.map_running = reader.optional(words[kMapRunning]);
  if (has_cause(words)) standing.cause = cause_of(words, reader);
  if (reader.spoiled()) result.reset();
  return result;
}

std::optional<PoolStanding> pool_of(const PoolWords& words) {
  Reader reader;
  PoolStanding pool;
  reader.require(words[kPoolFlags] >> 48 == kMark && (words[kPoolFlags] & 0xFFFF'FFFF'FFFF) <= (kPanic | kWebOnly));
  pool.panic = (words[kPoolFlags] & kPanic) != 0;
  pool.web_only = (words[kPoolFlags] & kWebOnly) != 0;
  pool.beat = reader.instant(words[kBeat]);
  pool.started = reader.instant(words[kStarted]);
  pool.mean_service_seconds = reader.number(words[kPoolService], 1e-9, 1e7);
  pool.share = reader.number(words[kShare], 1e-6, 1);
  pool.greatest_capacity = reader.number(words[kCapacity], 0, 1e9);
  pool.median_cores = reader.number(words[kMedianCores], 1e-6, 65536);
  if (reader.spoiled()) return std::nullopt;
  return pool;
}

double sane_virtual_time(std::uint64_t word) {
  const double time = std::bit_cast<double>(word);
  return time >= 0 && time <= kGreatestVirtualTime ? time : 0;
}

namespace {
constexpr std::uint32_t kEighthsMask = (1U << 20) - 1;
constexpr std::uint32_t kAhead = 2;  // seconds by which processes may have read their clocks apart
std::uint64_t sane_seconds(Instant instant, double parts) {
  return static_cast<std::uint64_t>(std::clamp(instant.time_since_epoch().count(), 0.0, 1e15) * parts);
}
}  // namespace

std::uint64_t packed(const ClientEntry& entry) {
  return static_cast<std::uint64_t>(entry.tag) << 32 | (entry.host & 0xFFF) << 20 | (entry.seen & kEighthsMask);
}

std::optional<ClientEntry> client_entry(std::uint64_t word) {
  if (word == 0) return std::nullopt;
  return ClientEntry{.tag = static_cast<std::uint32_t>(word >> 32),
                     .host = (word >> 20) & 0xFFF,
                     .seen = static_cast<std::uint32_t>(word) & kEighthsMask};
}

std::size_t bucket_of(std::uint64_t client) { return client % layout::kBuckets; }
// The lowest bit is the caller's.
std::uint32_t tag_of(std::uint64_t client) {
  const auto tag = static_cast<std::uint32_t>(client >> 32);
  return tag == 0 ? 2 : tag;
}

std::uint32_t seconds_of(Instant instant) { return static_cast<std::uint32_t>(sane_seconds(instant, 1)); }

std::uint32_t eighths_of(Instant instant) {
  return static_cast<std::uint32_t>(sane_seconds(instant, 8) & kEighthsMask);
}

Seconds age_of(const ClientEntry& entry, Instant now) {
  const std::uint32_t age = (eighths_of(now) - entry.seen) & kEighthsMask;
  return age > kEighthsMask - 8 * kAhead ? Seconds{0} : Seconds{static_cast<double>(age) / 8};
}

namespace {
constexpr std::uint32_t kKillerSeconds = 0xFFFF;
}

std::uint64_t packed(const KillerEntry& entry) {
  return static_cast<std::uint64_t>(entry.tag & 0xFFFFFF) << 40 | (entry.first & 0xFFF) << 28 |
         (entry.second & 0xFFF) << 16 | (entry.seen & kKillerSeconds);
}

std::optional<KillerEntry> killer_entry(std::uint64_t word) {
  if (word == 0) return std::nullopt;
  return KillerEntry{.tag = static_cast<std::uint32_t>(word >> 40),
                     .first = (word >> 28) & 0xFFF,
                     .second = (word >> 16) & 0xFFF,
                     .seen = static_cast<std::uint32_t>(word) & kKillerSeconds};
}

std::uint32_t killer_tag_of(std::uint64_t request) { return std::max(static_cast<std::uint32_t>(request >> 40), 1U); }

Seconds age_of(const KillerEntry& entry, Instant now) {
  const std::uint32_t age = (seconds_of(now) - entry.seen) & kKillerSeconds;
  return age > kKillerSeconds - kAhead ? Seconds{0} : Seconds{static_cast<double>(age)};
}

}  // namespace balance
