// SPDX-License-Identifier: MIT
// The table's mapping and its words.
#include "balance/table/table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cstdio>

#include "balance/table/layout.h"
#include "balance/table/mapping.h"
#include "balance/table/sigbus.h"
#include "balance/table/state_dir.h"
#include "balance/table/words.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using layout::Word;

constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kBoth = std::memory_order_acq_rel;

constexpr std::uint64_t kWeightsEqual = 1, kWeightsDiffer = 2;

// Copies the shown slot, if none of a bounded number of tries is overtaken by the writer: kUsual words and those beyond
// for which `has_more` the first kUsual ask; the rest of `words` stays as it is.
template <std::size_t kUsual, std::size_t kWords, class HasMore>
bool copy(const layout::Record<kWords>& record, std::array<std::uint64_t, kWords>& words, HasMore has_more) {
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t version = record.version.load(kAcquire);
    const auto& slot = record.slot[version & 1];
    for (std::size_t w = 0; w < kUsual; ++w) words[w] = slot[w].load(kAcquire);
    if (has_more(words)) {
      for (std::size_t w = kUsual; w < kWords; ++w) words[w] = slot[w].load(kAcquire);
    }
    if (record.version.load(kAcquire) == version) return true;
  }
  return false;
}

template <std::size_t kWords>
void show(layout::Record<kWords>& record, const std::array<std::uint64_t, kWords>& words) {
  const std::uint64_t next = record.version.load(kAcquire) + 1;
  for (std::size_t w = 0; w < kWords; ++w) record.slot[next & 1][w].store(words[w], kRelease);
  // Only now: a reader may copy the slot that `version` names at any moment, and a writer may die at any moment.
  record.version.store(next, kRelease);
}

base::Error another(const std::string& path, const std::string& what) {
  return base::Error{base::Fault::unavailable, path + ": " + what};
}

}  // namespace

Table::Table(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(Table&&) noexcept = default;
Table::~Table() = default;

base::Result<Table> Table::map(base::Fd file, const std::string& path, std::size_t hosts, Access access) {
  auto mapping = std::make_unique<Mapping>();
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return base::system_error("cannot stat " + path);
  if (!S_ISREG(status.st_mode)) return another(path, "is no regular file");
  const std::size_t bytes = layout::bytes_for(hosts);
  if (status.st_size != static_cast<off_t>(bytes)) {
    return another(path, "is not the table wanted: it has " + std::to_string(status.st_size) + " bytes, wanted " +
                             std::to_string(bytes) + " for " + std::to_string(hosts) + " hosts");
  }
  const int protection = access == Access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const begin = mmap(nullptr, bytes, protection, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) return base::system_error("cannot map " + path);
  mapping->begin = begin;
  mapping->bytes = bytes;
  mapping->hosts = hosts;
  mapping->access = access;
  mapping->device = status.st_dev;
  mapping->inode = status.st_ino;
  base::Result<Guard> guard = Guard::over(begin, bytes, &mapping->lost);
  if (!guard) return guard.error();
  mapping->guard = *std::move(guard);
  mapping->file = std::move(file);
  return Table(std::move(mapping));
}

base::Result<Table> Table::open(const std::string& path, const TableShape& shape, Access access) {
  if (shape.hosts < 1 || shape.hosts > layout::kMostHosts) {
    return another(path, "a table has 1 to 4096 hosts, not " + std::to_string(shape.hosts));
  }
  const int mode = access == Access::read_write ? O_RDWR : O_RDONLY;
  // Neither a link nor a pipe that somebody put there may lead us astray or hold us up.
  base::Result<base::Fd> file = base::Fd::open(path, mode | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!file) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return base::Error{missing ? base::Fault::unavailable : base::Fault::io, file.error().what};
  }
  base::Result<Table> table = map(*std::move(file), path, shape.hosts, access);
  if (!table) return table;
  const layout::Head& head = table->mapping_->head();
  if (head.magic.load(kAcquire) != layout::kMagic) return another(path, "is no table");
  if (head.layout_version.load(kAcquire) != layout::kLayoutVersion) {
    return another(path, "has table layout " + std::to_string(head.layout_version.load(kAcquire)) + ", wanted " +
                             std::to_string(layout::kLayoutVersion));
  }
  if (head.bytes.load(kAcquire) != table->mapping_->bytes || head.hosts.load(kAcquire) != shape.hosts) {
    return another(path, "is a table of another number of hosts");
  }
  if (head.boot.load(kAcquire) != base::fingerprint(shape.boot_id)) return another(path, "is of another boot");
  if (head.fingerprint.load(kAcquire) != shape.fingerprint) return another(path, "is of another configuration");
  table->mapping_->balancer_id = head.balancer_id.load(kAcquire);
  if (!table->intact()) return another(path, "was truncated");
  return table;
}

base::Result<Table> Table::create(const std::string& path, const TableShape& shape, const Heritage& heritage,
                                  const SetByHand* set_by_hand) {
  if (shape.hosts < 1 || shape.hosts > layout::kMostHosts) {
    return base::Error{base::Fault::usage, "a table has 1 to 4096 hosts, not " + std::to_string(shape.hosts)};
  }
  // Only the lease's holder makes tables, so whatever has this name was left by one that died.
  const std::string beside = path + ".new";
  unlink(beside.c_str());
  base::Result<base::Fd> file = base::Fd::open(beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) return file.error();
  const off_t bytes = static_cast<off_t>(layout::bytes_for(shape.hosts));
  const auto fail = [&beside](base::Error error) {
    unlink(beside.c_str());
    return error;
  };
  // A full disk has to say so here, not by SIGBUS at the first write.
  if (const int refused = posix_fallocate(file->get(), 0, bytes); refused != 0) {
    errno = refused;
    return fail(base::system_error("cannot reserve " + std::to_string(bytes) + " bytes for " + beside));
  }
  if (base::Status shared = share_with_group(file->get(), beside); !shared) return fail(shared.error());
  base::Result<Table> table = map(*std::move(file), beside, shape.hosts, Access::read_write);
  if (!table) return fail(table.error());

  const bool inherits = heritage.from != nullptr;
  Mapping& mapping = *table->mapping_;
  mapping.balancer_id = inherits ? heritage.from->balancer_id() : base::random_bits();
  layout::Head& head = mapping.head();
  head.layout_version.store(layout::kLayoutVersion, kRelease);
  head.bytes.store(mapping.bytes, kRelease);
  head.fingerprint.store(shape.fingerprint, kRelease);
  head.hosts.store(shape.hosts, kRelease);
  head.boot.store(base::fingerprint(shape.boot_id), kRelease);
  head.balancer_id.store(mapping.balancer_id, kRelease);
  head.created.store(std::bit_cast<std::uint64_t>(base::now().time_since_epoch().count()), kRelease);
  head.magic.store(layout::kMagic, kRelease);
  table->publish(PoolStanding{});
  for (std::size_t i = 0; i < shape.hosts; ++i) table->publish(i, Standing{});
  if (inherits) table->inherit(heritage);
  if (set_by_hand != nullptr) (void)table->set_by_hand(*set_by_hand, table->words_by_hand());
  if (!table->intact()) return fail(another(beside, "was truncated while it was made"));
  if (rename(beside.c_str(), path.c_str()) != 0) return fail(base::system_error("cannot rename " + beside));
  return table;
}

void Table::inherit(const Heritage& heritage) {
  const Mapping& old = *heritage.from->mapping_;
  Mapping& now = *mapping_;
  if (const std::optional<PoolStanding> pool = heritage.from->pool()) publish(*pool);
  now.shared().virtual_time.store(old.shared().virtual_time.load(kAcquire), kRelease);
  now.shared().weights.store(old.shared().weights.load(kAcquire), kRelease);
  std::vector<std::optional<std::size_t>> becomes(old.hosts);
  for (std::size_t i = 0; i < std::min(now.hosts, heritage.was.size()); ++i) {
    const std::optional<std::size_t> was = heritage.was[i];
    if (!was || *was >= old.hosts) continue;
    becomes[*was] = i;
    if (const std::optional<Standing> standing = heritage.from->standing(*was)) publish(i, *standing);
    now.live(i).prediction.store(old.live(*was).prediction.load(kAcquire), kRelease);
    now.live(i).dispatches.store(old.live(*was).dispatches.load(kAcquire), kRelease);
    now.live(i).turn.store(old.live(*was).turn.load(kAcquire), kRelease);
    now.live(i).outcomes.store(old.live(*was).outcomes.load(kAcquire), kRelease);
    now.live(i).by_hand.store(old.live(*was).by_hand.load(kAcquire), kRelease);
  }
  for (std::size_t b = 0; b < layout::kBuckets; ++b) {
    for (std::size_t w = 0; w < layout::kWays; ++w) {
      std::optional<ClientEntry> entry = client_entry(old.bucket(b).entry[w].load(kAcquire));
      if (!entry || entry->host >= becomes.size() || !becomes[entry->host]) continue;
      entry->host = *becomes[entry->host];
      now.bucket(b).entry[w].store(packed(*entry), kRelease);
    }
  }
}

bool Table::intact() const {
  return !mapping_->lost.load(kAcquire) && mapping_->head().magic.load(kAcquire) == layout::kMagic &&
         !mapping_->lost.load(kAcquire);
}

bool Table::is_current(const std::string& path) const {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && status.st_dev == mapping_->device && status.st_ino == mapping_->inode &&
         status.st_size == static_cast<off_t>(mapping_->bytes);
}

std::uint64_t Table::balancer_id() const { return mapping_->balancer_id; }
std::size_t Table::hosts() const { return mapping_->hosts; }

void Table::publish(std::size_t host, const Standing& standing) {
  if (host < mapping_->hosts && mapping_->writable()) show(mapping_->host(host), to_words(standing));
}

void Table::publish(const PoolStanding& pool) {
  if (mapping_->writable()) show(mapping_->pool(), to_words(pool));
}

std::optional<Standing> Table::standing(std::size_t host) const {
  if (host >= mapping_->hosts) return std::nullopt;
  HostWords words;
  if (!copy<kHostFigures>(mapping_->host(host), words, has_cause) || mapping_->lost.load(kAcquire)) return std::nullopt;
  return standing_of(words);
}

std::optional<PoolStanding> Table::pool() const {
  PoolWords words;
  const bool copied = copy<layout::kPoolWords>(mapping_->pool(), words, [](const PoolWords&) { return false; });
  if (!copied || mapping_->lost.load(kAcquire)) return std::nullopt;
  return pool_of(words);
}

Live Table::live(std::size_t host, Instant now) const {
  Live live;
  live.prediction.at = now;
  if (host >= mapping_->hosts) return live;
  const layout::Live& words = mapping_->live(host);
  live.prediction = unpacked(words.prediction.load(kAcquire), now);
  live.turn = sane_virtual_time(words.turn.load(kAcquire));
  live.in_flight = in_flight(host);
  live.outcomes = outcomes_of(words.outcomes.load(kAcquire));
  live.by_hand = by_hand_of(words.by_hand.load(kAcquire));
  return live;
}

double Table::virtual_time() const { return sane_virtual_time(mapping_->shared().virtual_time.load(kAcquire)); }

std::uint64_t Table::dispatches(std::size_t host) const {
  return host < mapping_->hosts ? mapping_->live(host).dispatches.load(kAcquire) : 0;
}

bool Table::take_turn(std::size_t host, double seen, double host_after, double pool_after) {
  if (host >= mapping_->hosts || !mapping_->writable()) return true;  // nobody to contend with
  Word& turn = mapping_->live(host).turn;
  std::uint64_t found = turn.load(kAcquire);
  // What makes no sense was read as 0 and has to be replaced, or the turn could never be taken.
  if (sane_virtual_time(found) != seen) return false;
  if (!turn.compare_exchange_strong(found, std::bit_cast<std::uint64_t>(host_after), kBoth)) return false;
  constexpr int kTries = 1000;
  Word& time = mapping_->shared().virtual_time;
  std::uint64_t before = time.load(kAcquire);
  for (int i = 0; i < kTries; ++i) {
    const double now = std::bit_cast<double>(before);
    if (now == sane_virtual_time(before) && now >= pool_after) break;
    if (time.compare_exchange_weak(before, std::bit_cast<std::uint64_t>(pool_after), kBoth)) break;
  }
  return true;
}

void Table::set_prediction(std::size_t host, const Prediction& prediction) {
  if (host < mapping_->hosts && mapping_->writable()) {
    mapping_->live(host).prediction.store(packed(prediction), kRelease);
  }
}

std::optional<bool> Table::weights_differ() const {
  const std::uint64_t word = mapping_->shared().weights.load(kAcquire);
  if (word != kWeightsEqual && word != kWeightsDiffer) return std::nullopt;
  return word == kWeightsDiffer;
}

std::vector<std::uint64_t> Table::words_by_hand() const {
  std::vector<std::uint64_t> words;
  words.reserve(mapping_->hosts);
  for (std::size_t i = 0; i < mapping_->hosts; ++i) words.push_back(mapping_->live(i).by_hand.load(kAcquire));
  return words;
}

bool Table::set_by_hand(const SetByHand& now, const std::vector<std::uint64_t>& seen) {
  if (!mapping_->writable()) return true;
  bool all = true;
  for (std::size_t i = 0; i < mapping_->hosts && i < seen.size(); ++i) {
    const std::uint64_t word = i < now.hosts.size() ? packed(now.hosts[i]) : 0;
    std::uint64_t found = seen[i];
    all = mapping_->live(i).by_hand.compare_exchange_strong(found, word, kBoth) && all;
  }
  if (!all) return false;
  const std::uint64_t differ = now.weights_differ.value_or(false) ? kWeightsDiffer : kWeightsEqual;
  mapping_->shared().weights.store(now.weights_differ ? differ : 0, kRelease);
  return true;
}

std::uint64_t Table::prediction_word(std::size_t host) const {
  return host < mapping_->hosts ? mapping_->live(host).prediction.load(kAcquire) : 0;
}

bool Table::replace_prediction(std::size_t host, std::uint64_t seen, std::uint64_t after) {
  if (host >= mapping_->hosts || !mapping_->writable()) return true;
  return mapping_->live(host).prediction.compare_exchange_strong(seen, after, kBoth);
}

void Table::count_dispatch(std::size_t host) {
  if (host < mapping_->hosts && mapping_->writable()) mapping_->live(host).dispatches.fetch_add(1, kBoth);
}

std::optional<Table::Bond> Table::bond_of_client(std::uint64_t client, Instant now) const {
  std::optional<Bond> youngest;
  // Two processes may have entered one client side by side: the younger entry counts.
  for (const Word& word : mapping_->bucket(bucket_of(client)).entry) {
    const std::optional<ClientEntry> entry = client_entry(word.load(kAcquire));
    if (!entry || entry->tag != tag_of(client) || entry->host >= mapping_->hosts) continue;
    const Seconds age = age_of(*entry, now);
    if (!youngest || age < youngest->age) youngest = Bond{entry->host, age};
  }
  return youngest;
}

std::optional<std::size_t> Table::host_of_client(std::uint64_t client, Instant now, Seconds keep) const {
  const std::optional<Bond> bond = bond_of_client(client, now);
  if (!bond || bond->age > keep) return std::nullopt;
  return bond->host;
}

// The client's own place, else the one that can best be spared.
Table::ClientPlace Table::place_for_client(std::size_t bucket, std::uint32_t tag, Instant now) const {
  ClientPlace best;
  Seconds oldest{-1};
  for (std::size_t i = 0; i < layout::kWays; ++i) {
    const std::uint64_t word = mapping_->bucket(bucket).entry[i].load(kAcquire);
    const std::optional<ClientEntry> entry = client_entry(word);
    if (entry && entry->tag == tag) return {i, word};
    const Seconds age = entry ? age_of(*entry, now) : Seconds{1e9};
    if (age > oldest) {
      oldest = age;
      best = {i, word};
    }
  }
  return best;
}

void Table::remember_client(std::uint64_t client, std::size_t host, Instant now) {
  if (host >= mapping_->hosts || !mapping_->writable()) return;
  const std::size_t bucket = bucket_of(client);
  const std::size_t place = place_for_client(bucket, tag_of(client), now).way;
  mapping_->bucket(bucket).entry[place].store(packed({.tag = tag_of(client), .host = host, .seen = eighths_of(now)}),
                                              kRelease);
}

std::size_t Table::claim_client(std::uint64_t client, std::size_t host, std::optional<std::size_t> instead_of,
                                Instant now, Seconds keep) {
  if (host >= mapping_->hosts || !mapping_->writable()) return host;
  const std::uint32_t tag = tag_of(client);
  const std::uint64_t after = packed({.tag = tag, .host = host, .seen = eighths_of(now)});
  layout::Bucket& bucket = mapping_->bucket(bucket_of(client));
  // Each failed try means that somebody else wrote there. Two that claim one client meet in one place: who scans later
  // sees only younger entries than the other did, and takes either that place or what its owner's claim fails on.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const ClientPlace place = place_for_client(bucket_of(client), tag, now);
    std::uint64_t seen = place.word;
    const std::optional<ClientEntry> entry = client_entry(seen);
    if (entry && entry->tag == tag && entry->host < mapping_->hosts && entry->host != host &&
        entry->host != instead_of && age_of(*entry, now) < keep) {
      return entry->host;
    }
    if (seen == after || bucket.entry[place.way].compare_exchange_strong(seen, after, kBoth)) return host;
  }
  return host;
}

std::size_t Table::client_places() { return layout::kBuckets * layout::kWays; }

std::optional<std::pair<std::uint32_t, Table::Bond>> Table::client_at(std::size_t place, Instant now) const {
  const layout::Bucket& bucket = mapping_->bucket(place / layout::kWays);
  const std::optional<ClientEntry> entry = client_entry(bucket.entry[place % layout::kWays].load(kAcquire));
  if (!entry || entry->host >= mapping_->hosts) return std::nullopt;
  return std::pair(entry->tag, Bond{entry->host, age_of(*entry, now)});
}

}  // namespace balance
