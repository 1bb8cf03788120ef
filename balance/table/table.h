// SPDX-License-Identifier: MIT
// The table: one mapped file that every process of the balancer shares. Its invariants stand in layout.h.
// Floor 3. Any thread may call the functions of an open Table, except moving and destroying it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "balance/ground/retry.h"
#include "balance/pool/prediction.h"
#include "balance/pool/snapshot.h"
#include "balance/pool/standing.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/result.h"

namespace balance {

// What a table must match to be read at all.
struct TableShape {
  std::uint64_t fingerprint = 0;  // of the configuration's text
  std::size_t hosts = 0;          // 1 to 4096
  std::string boot_id;            // instants of another boot mean nothing
};

// What was set by hand for all hosts.
struct SetByHand {
  std::vector<ByHand> hosts;           // by host
  std::optional<bool> weights_differ;  // as of pool/by_hand.h
};

enum class Access : std::uint8_t {
  read_write,
  read_only,  // to look, as balancectl does: whatever would write does nothing
};

class Table {
 public:
  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;
  ~Table();

  // Maps what stands at `path`. Fault::unavailable if there is none or it is another's (magic, layout version, size,
  // shape); Fault::io if the system refuses.
  static base::Result<Table> open(const std::string& path, const TableShape& shape, Access access = Access::read_write);

  // What a new table takes over from the one before it: `was[i]` is the index that host i had there, if it was there.
  struct Heritage {
    const Table* from = nullptr;
    std::vector<std::optional<std::size_t>> was;
  };
  // Makes a new file, its space on the disk included, and renames it over `path`. Without heritage everything in it is
  // empty and it has a new balancer id; with one the id stays, and standings, predictions, turns, dispatches and client
  // entries of the hosts that stay come along (what others dispatch through the old file meanwhile does not). Readable
  // and writable for the owner and the group; the group is the directory's where that may be written by its group.
  // REQUIRES: the caller holds the lease.
  // `set_by_hand` is what it begins with; null: what the one before has.
  static base::Result<Table> create(const std::string& path, const TableShape& shape, const Heritage& heritage,
                                    const SetByHand* set_by_hand = nullptr);
  static base::Result<Table> create(const std::string& path, const TableShape& shape) {
    return create(path, shape, Heritage{});
  }

  // False once the file was truncated under us (SIGBUS) or its head overwritten: from then on everything read is empty;
  // open another.
  bool intact() const;
  // True while `path` still names this file: poolwatch may have put a new one in its place.
  bool is_current(const std::string& path) const;
  std::uint64_t balancer_id() const;
  std::size_t hosts() const;

  // --- standings: written by the lease's holder alone ---
  void publish(std::size_t host, const Standing& standing);
  void publish(const PoolStanding& pool);
  // Nothing where no whole copy could be had in a bounded number of tries, or what was read makes no sense.
  std::optional<Standing> standing(std::size_t host) const;
  std::optional<PoolStanding> pool() const;

  // --- what every dispatch changes: written by everyone ---
  Live live(std::size_t host, Instant now) const;
  double virtual_time() const;
  // Only grows; wraps never.
  std::uint64_t dispatches(std::size_t host) const;
  // Counts one dispatch: the prediction becomes `raise(seen)` if it is still the one that `seen` was read from, else it
  // is read again and `raise` asked anew. Each failed try means that somebody else's succeeded, so the bound is for a
  // file that is no table any more; the dispatch itself is counted in any case.
  template <class Raise>  // Prediction raise(Prediction seen)
  void dispatch(std::size_t host, Instant now, Raise raise);
  // Takes the host's turn: false if another process took it since `seen` was read; then choose again.
  bool take_turn(std::size_t host, double seen, double host_after, double pool_after);
  // A report's word on the requests in progress.
  void set_prediction(std::size_t host, const Prediction& prediction);

  // --- what was set by hand: invariant 12 of layout.h ---
  // Whether the weights in force differ; nothing where none was set by hand.
  std::optional<bool> weights_differ() const;
  // The words as they stand now, to be asked for before the file is read.
  std::vector<std::uint64_t> words_by_hand() const;
  // Puts the new words where `seen` still stands. False: somebody else has set one meanwhile; read the file again.
  bool set_by_hand(const SetByHand& now, const std::vector<std::uint64_t>& seen);

  // Relayed requests in flight to this host, of all processes. InFlight (in_flight.h) counts them.
  std::uint32_t in_flight(std::size_t host) const;
  // Clears what processes that died have left; poolwatch does so at every beat. How many slots it cleared.
  std::size_t clear_dead_slots();
  // How a relayed request ended.
  void note_end(std::size_t host, Relayed end, Instant now);

  // --- killers: requests (request_fingerprint) that failed on two hosts: fixed size, lossy, kept for a minute ---
  // The two hosts. Such a request goes to one of them and to no other.
  std::optional<std::pair<std::size_t, std::size_t>> killer(std::uint64_t request, Instant now) const;
  void note_killer(std::uint64_t request, std::pair<std::size_t, std::size_t> hosts, Instant now);
  void forget_killer(std::uint64_t request);  // it went well

  // --- client entries: lossy when full, expiring ---
  // The host that last served this client, if that was within `keep` (at most 6 days). `client` is a hash of all 64
  // bits.
  std::optional<std::size_t> host_of_client(std::uint64_t client, Instant now, Seconds keep) const;
  void remember_client(std::uint64_t client, std::size_t host, Instant now);
  // The client's youngest entry, however old.
  struct Bond {
    std::size_t host = 0;
    Seconds age{0};  // since it was last remembered
  };
  std::optional<Bond> bond_of_client(std::uint64_t client, Instant now) const;
  // Remembers the client for `host`, unless another process has given it to one that is neither that nor `instead_of`
  // less than `keep` ago: whoever comes first decides. The host whose the client now is.
  std::size_t claim_client(std::uint64_t client, std::size_t host, std::optional<std::size_t> instead_of, Instant now,
                           Seconds keep);
  // How many clients were remembered less than `keep` ago, by host: of those for which `is_counted(tag_of(client))`.
  template <class IsCounted>
  std::vector<std::size_t> count_clients(Instant now, Seconds keep, IsCounted is_counted) const {
    std::vector<std::size_t> counts(hosts(), 0);
    for (std::size_t i = 0; i < client_places(); ++i) {
      const std::optional<std::pair<std::uint32_t, Bond>> entry = client_at(i, now);
      if (entry && entry->second.age < keep && is_counted(entry->first)) ++counts[entry->second.host];
    }
    return counts;
  }

 private:
  struct Mapping;
  explicit Table(std::unique_ptr<Mapping> mapping);
  static base::Result<Table> map(base::Fd file, const std::string& path, std::size_t hosts, Access access);
  void inherit(const Heritage& heritage);
  std::uint64_t prediction_word(std::size_t host) const;
  bool replace_prediction(std::size_t host, std::uint64_t seen, std::uint64_t after);
  void count_dispatch(std::size_t host);
  static std::size_t client_places();
  std::optional<std::pair<std::uint32_t, Bond>> client_at(std::size_t place, Instant now) const;  // its tag and bond
  struct ClientPlace {
    std::size_t way = 0;
    std::uint64_t word = 0;  // as it was seen there
  };
  ClientPlace place_for_client(std::size_t bucket, std::uint32_t tag, Instant now) const;

  // Slots of requests in flight, for InFlight. One slot a Table.
  friend class InFlight;
  bool claim_slot();
  void release_slot();
  enum class Step : std::uint8_t { up, down };
  bool count_flight(std::size_t host, Step step);  // false: not counted
  bool clear_slot(std::size_t slot);
  std::unique_ptr<Mapping> mapping_;
};

template <class Raise>
void Table::dispatch(std::size_t host, Instant now, Raise raise) {
  constexpr int kTries = 10000;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t seen = prediction_word(host);
    if (replace_prediction(host, seen, packed(raise(unpacked(seen, now))))) break;
  }
  count_dispatch(host);
}

}  // namespace balance
