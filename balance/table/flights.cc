// SPDX-License-Identifier: MIT
// What relaying keeps in the table: requests in flight by slot, how they ended, and killers. The rules of the slots are
// invariants 10 and 11 of layout.h.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "balance/table/mapping.h"
#include "balance/table/table.h"
#include "balance/table/words.h"

namespace balance {
namespace {

using layout::Word;

constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kBoth = std::memory_order_acq_rel;
constexpr std::uint64_t kMostCount = (std::uint64_t{1} << layout::kCountBits) - 1;
// Each failed try means that somebody else's succeeded; the bound is for a file that is no table any more.
constexpr int kTries = 10000;

struct Place {  // of a slot's count in a host's words
  std::size_t word;
  std::size_t shift;
};
constexpr Place place_of(std::size_t slot) {
  return {slot / layout::kCountsInWord, slot % layout::kCountsInWord * layout::kCountBits};
}

// Takes or frees the lock of one slot. False: somebody else holds it, or the system refuses.
bool lock(int file, std::size_t slot, short type) {
  struct flock request = {};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  request.l_start = static_cast<off_t>(layout::kLocksAt) + static_cast<off_t>(slot);
  request.l_len = 1;
  int refused = 0;
  do {
    refused = fcntl(file, F_OFD_SETLK, &request);
  } while (refused != 0 && errno == EINTR);
  return refused == 0;
}

std::uint64_t bit_of(std::size_t slot) { return std::uint64_t{1} << slot; }

}  // namespace

std::uint32_t Table::in_flight(std::size_t host) const {
  if (host >= mapping_->hosts) return 0;
  if (mapping_->shared().claimed.load(kAcquire) == 0) return 0;  // nobody relays
  std::uint64_t sum = 0;
  for (const Word& word : mapping_->flights(host).counts) {
    const std::uint64_t counts = word.load(kAcquire);
    if (counts == 0) continue;
    for (std::size_t shift = 0; shift < 64; shift += layout::kCountBits) sum += (counts >> shift) & kMostCount;
  }
  return static_cast<std::uint32_t>(sum);
}

bool Table::claim_slot() {
  Mapping& mapping = *mapping_;
  if (!mapping.writable() || mapping.own_slot) return mapping.own_slot.has_value();
  const auto first = static_cast<std::size_t>(getpid());
  for (std::size_t i = 0; i < layout::kSlots; ++i) {
    const std::size_t slot = (first + i) % layout::kSlots;
    if (!lock(mapping.file.get(), slot, F_WRLCK)) continue;
    clear_slot(slot);
    mapping.shared().claimed.fetch_or(bit_of(slot), kBoth);
    mapping.own_slot = slot;
    return true;
  }
  return false;
}

void Table::release_slot() {
  if (!mapping_->own_slot) return;
  const std::size_t slot = *std::exchange(mapping_->own_slot, std::nullopt);
  clear_slot(slot);
  lock(mapping_->file.get(), slot, F_UNLCK);
}

// REQUIRES: the lock of the slot is ours. True if there was something to clear.
bool Table::clear_slot(std::size_t slot) {
  Word& claimed = mapping_->shared().claimed;
  if ((claimed.load(kAcquire) & bit_of(slot)) == 0) return false;
  const Place place = place_of(slot);
  for (std::size_t host = 0; host < mapping_->hosts; ++host) {
    Word& word = mapping_->flights(host).counts[place.word];
    if ((word.load(kAcquire) >> place.shift & kMostCount) != 0) word.fetch_and(~(kMostCount << place.shift), kBoth);
  }
  claimed.fetch_and(~bit_of(slot), kBoth);
  return true;
}

std::size_t Table::clear_dead_slots() {
  if (!mapping_->writable()) return 0;
  std::size_t cleared = 0;
  const std::uint64_t claimed = mapping_->shared().claimed.load(kAcquire);
  for (std::size_t slot = 0; slot < layout::kSlots; ++slot) {
    if ((claimed & bit_of(slot)) == 0 || mapping_->own_slot == slot) continue;
    if (!lock(mapping_->file.get(), slot, F_WRLCK)) continue;
    if (clear_slot(slot)) ++cleared;
    lock(mapping_->file.get(), slot, F_UNLCK);
  }
  return cleared;
}

bool Table::count_flight(std::size_t host, Step step) {
  if (host >= mapping_->hosts || !mapping_->own_slot) return false;
  const Place place = place_of(*mapping_->own_slot);
  Word& word = mapping_->flights(host).counts[place.word];
  const std::uint64_t one = std::uint64_t{1} << place.shift;
  std::uint64_t seen = word.load(kAcquire);
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t count = seen >> place.shift & kMostCount;
    if (count == (step == Step::up ? kMostCount : 0)) return false;
    if (word.compare_exchange_weak(seen, step == Step::up ? seen + one : seen - one, kBoth)) return true;
  }
  return false;
}

void Table::note_end(std::size_t host, Relayed end, Instant now) {
  if (host >= mapping_->hosts || !mapping_->writable() || end == Relayed::fine) return;
  Word& word = mapping_->live(host).outcomes;
  std::uint64_t seen = word.load(kAcquire);
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t after = packed(with_end(outcomes_of(seen), end, now));
    if (after == seen || word.compare_exchange_weak(seen, after, kBoth)) return;
  }
}

std::optional<std::pair<std::size_t, std::size_t>> Table::killer(std::uint64_t request, Instant now) const {
  for (const Word& word : mapping_->killers(request % layout::kKillerBuckets).entry) {
    const std::optional<KillerEntry> entry = killer_entry(word.load(kAcquire));
    if (!entry || entry->tag != killer_tag_of(request) || age_of(*entry, now) > kKillerKept) continue;
    if (entry->first >= mapping_->hosts || entry->second >= mapping_->hosts) continue;
    return std::pair{entry->first, entry->second};
  }
  return std::nullopt;
}

void Table::note_killer(std::uint64_t request, std::pair<std::size_t, std::size_t> hosts, Instant now) {
  if (hosts.first >= mapping_->hosts || hosts.second >= mapping_->hosts || !mapping_->writable()) return;
  layout::Bucket& bucket = mapping_->killers(request % layout::kKillerBuckets);
  std::size_t place = 0;
  Seconds oldest{-1};
  for (std::size_t i = 0; i < layout::kWays; ++i) {
    const std::optional<KillerEntry> entry = killer_entry(bucket.entry[i].load(kAcquire));
    const bool is_same = entry && entry->tag == killer_tag_of(request);
    const Seconds age = is_same ? Seconds{1e10} : entry ? age_of(*entry, now) : Seconds{1e9};
    if (age > oldest) {
      oldest = age;
      place = i;
    }
  }
  bucket.entry[place].store(packed(KillerEntry{killer_tag_of(request), hosts.first, hosts.second, seconds_of(now)}),
                            kRelease);
}

void Table::forget_killer(std::uint64_t request) {
  if (!mapping_->writable()) return;
  for (Word& word : mapping_->killers(request % layout::kKillerBuckets).entry) {
    std::uint64_t seen = word.load(kAcquire);
    const std::optional<KillerEntry> entry = killer_entry(seen);
    if (entry && entry->tag == killer_tag_of(request)) word.compare_exchange_strong(seen, 0, kBoth);
  }
}

}  // namespace balance
