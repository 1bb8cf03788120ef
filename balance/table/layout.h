// SPDX-License-Identifier: MIT
// How the table lies in its file: head, pool, hosts' records, hosts' live words, requests in flight, client entries,
// killers; nothing but 64-bit lock-free atomic words. Floor 3; for this folder and its tests alone.
//
// Invariants:
//  1. The file never changes its size. What needs another size or layout is a new file, renamed over the old one.
//  2. The head is written before the file gets its name, and never again. Sizes and counts come from the shape that was
//     asked for and were compared once; nothing is ever computed from the head.
//  3. Records are written by the holder of the lease alone, by one thread at a time.
//  4. `slot[version & 1]` is the shown slot. The writer fills the other one wholly, then adds one to `version`. A
//  writer
//     that dies at any instant leaves only the hidden slot torn, and the next writer fills that one again.
//  5. Slot words are stored with release and loaded with acquire. A reader that met a word of a later filling therefore
//     sees the `version` that came before that filling, and rejects its copy; no fence is needed.
//  6. Words of Live and Shared are written by every process, each by one atomic read-modify-write. No two of them need
//  to
//     agree with each other.
//  7. A client entry, and one of a killer, is one word: never torn, always replaceable.
//  8. A word of a slot that was never filled (zero pages after a truncation) lacks its mark: it reads as nothing.
//  9. Whoever reads checks: enumerations, finite numbers and their ranges, text, indices. The file is not trusted.
// 10. Requests in flight are counted in slots. A slot is a process's own while it holds an OFD write lock (fcntl(2)) on
//     the byte kLocksAt + slot of the file, which lies beyond its end; the kernel frees it when the last descriptor of
//     that open file is closed, so at the latest at death. The owner sets the slot's bit in `claimed` before it counts
//     anything, and whoever clears the bit holds the lock and has set the slot's counts to 0 before. Therefore: bit
//     clear, counts 0; bit set and lock free, the counts were left by one that died. Whoever takes the lock next clears
//     them, the next owner or poolwatch at its beat (four times a second); until then readers count them in.
// 11. Four counts share a word, and each changes by compare-and-swap of the word within 0 to 65535, so a count never
//     spills into its neighbours.
// 12. What was set by hand is written by balancectl, which writes the file that keeps it first, and by poolwatch from
//     that file. A word is replaced only while it is the one that stood there before the file was read; so an older
//     file never undoes a younger word. A new table has these words before it has its name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace balance::layout {

using Word = std::atomic<std::uint64_t>;
// Processes share the words: each must be a plain, lock-free 64 bits.
static_assert(Word::is_always_lock_free);
static_assert(sizeof(Word) == sizeof(std::uint64_t));
static_assert(alignof(Word) == 8);

inline constexpr std::uint64_t kMagic = 0x656c6261'74616d62;  // "bmatable" in memory, little-endian machines only
inline constexpr std::uint64_t kLayoutVersion = 5;            // add one at any change below, or of words.h
inline constexpr std::size_t kMostHosts = 4096;
inline constexpr std::size_t kCacheLine = 64;

struct alignas(kCacheLine) Head {
  Word magic, layout_version, bytes, fingerprint, hosts;
  Word boot;         // fingerprint of the boot id
  Word balancer_id;  // drawn when the file was made
  Word created;      // when, seconds of the monotonic clock, bits of a double
};

template <std::size_t kWords>
struct alignas(kCacheLine) Record {
  Word version;
  Word slot[2][kWords];
};
inline constexpr std::size_t kPoolWords = 7;
inline constexpr std::size_t kHostWords = 27;
using PoolRecord = Record<kPoolWords>;
using HostRecord = Record<kHostWords>;

struct alignas(kCacheLine) Shared {  // of the pool
  Word virtual_time;                 // bits of a double, 0 or more
  Word claimed;                      // a bit for each slot
  Word weights;                      // set by hand: 0 none, 1 all above 0 in force are equal, 2 they differ
};

struct alignas(kCacheLine) Live {  // of a host, on a cache line of its own
  Word prediction;                 // packed(Prediction)
  Word dispatches;                 // only grows
  Word turn;                       // virtual time, bits of a double, 0 or more
  Word outcomes;                   // packed(Outcomes)
  Word by_hand;                    // packed(ByHand)
};

// Relayed requests in flight to a host, by slot.
inline constexpr std::size_t kSlots = 64;
inline constexpr std::size_t kCountBits = 16, kCountsInWord = 64 / kCountBits;
struct alignas(kCacheLine) Flights {
  Word counts[kSlots / kCountsInWord];
};
inline constexpr long long kLocksAt = 1LL << 40;

// A client has its place in one bucket, a cache line. With 20,000 clients one bucket in a thousand is full.
inline constexpr std::size_t kWays = 8;
inline constexpr std::size_t kBuckets = 8192;
struct alignas(kCacheLine) Bucket {
  Word entry[kWays];
};

// A killer has its place in one of these likewise.
inline constexpr std::size_t kKillerBuckets = 64;

static_assert(sizeof(Head) == 64 && offsetof(Head, created) == 56);
static_assert(sizeof(PoolRecord) == 128 && offsetof(PoolRecord, slot) == 8);
static_assert(sizeof(HostRecord) == 448 && offsetof(HostRecord, slot) == 8);
static_assert(sizeof(Flights) == 2 * kCacheLine);
static_assert(sizeof(Shared) == kCacheLine && sizeof(Live) == kCacheLine && sizeof(Bucket) == kCacheLine);

// Offsets in the file, bytes.
inline constexpr std::size_t kPoolAt = sizeof(Head);
inline constexpr std::size_t kSharedAt = kPoolAt + sizeof(PoolRecord);
inline constexpr std::size_t kHostsAt = kSharedAt + sizeof(Shared);
inline constexpr std::size_t host_at(std::size_t host) { return kHostsAt + host * sizeof(HostRecord); }
inline constexpr std::size_t live_at(std::size_t host, std::size_t hosts) {
  return host_at(hosts) + host * sizeof(Live);
}
inline constexpr std::size_t flights_at(std::size_t host, std::size_t hosts) {
  return live_at(hosts, hosts) + host * sizeof(Flights);
}
inline constexpr std::size_t buckets_at(std::size_t hosts) { return flights_at(hosts, hosts); }
inline constexpr std::size_t killers_at(std::size_t hosts) { return buckets_at(hosts) + kBuckets * sizeof(Bucket); }
inline constexpr std::size_t bytes_for(std::size_t hosts) {
  return killers_at(hosts) + kKillerBuckets * sizeof(Bucket);
}

static_assert(kPoolAt == 64 && kSharedAt == 192 && kHostsAt == 256 &&
              bytes_for(1) == 256 + 448 + 64 + 128 + 524288 + 4096);

}  // namespace balance::layout
