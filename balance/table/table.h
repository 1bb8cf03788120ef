// SPDX-License-Identifier: MIT
// The table: one mapped file that every process of the balancer shares.
// Floor 3. One Table per process; its functions may be called from any thread, except open, create and move.
// (The numbered invariants stand at the top of table.cc's layout.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "balance/pool/prediction.h"
#include "balance/pool/snapshot.h"
#include "balance/pool/standing.h"
#include "loadprobe/base/result.h"

namespace balance {

// What a table must match to be read at all.
struct TableShape {
  std::uint64_t fingerprint = 0;  // of the configuration's text
  std::size_t hosts = 0;          // 1 to 4096
  std::string boot_id;            // instants of another boot mean nothing
};

class Table {
 public:
  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;
  ~Table();

  // Maps what stands at `path`. Fault::unavailable if there is none or it is another's (magic, layout version, size,
  // shape).
  static base::Result<Table> open(const std::string& path, const TableShape& shape);
  // Makes a new file and renames it over `path`; everything in it is empty and it has a new balancer id.
  // REQUIRES: the caller holds the lease.
  static base::Result<Table> create(const std::string& path, const TableShape& shape);

  // False once the file was truncated under us (SIGBUS): from then on everything read is empty; open another.
  bool intact() const;
  // True while `path` still names this file: poolwatch may have put a new one in its place.
  bool is_current(const std::string& path) const;
  std::uint64_t balancer_id() const;

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
  // Counts one dispatch: the prediction becomes `after` if it is still the one that `seen` was read from, else the
  // function reads it again and asks `raise` anew, a bounded number of times, and adds at last without draining: no
  // dispatch is lost.
  template <class Raise>  // Prediction raise(Prediction seen)
  void dispatch(std::size_t host, Instant now, Raise raise);
  // Takes the host's turn: false if another process took it since `seen` was read; then choose again.
  bool take_turn(std::size_t host, double seen, double host_after, double pool_after);
  // A report's word on the requests in progress.
  void set_prediction(std::size_t host, const Prediction& prediction);

  // --- client entries: lossy when full, expiring ---
  // The host that last served this client, if that was within `keep`.
  std::optional<std::size_t> host_of_client(std::uint64_t client, Instant now, Seconds keep) const;
  void remember_client(std::uint64_t client, std::size_t host, Instant now);

 private:
  struct Mapping;
  explicit Table(std::unique_ptr<Mapping> mapping);
  std::uint64_t prediction_word(std::size_t host) const;
  bool replace_prediction(std::size_t host, std::uint64_t seen, std::uint64_t after);
  void count_dispatch(std::size_t host);
  std::unique_ptr<Mapping> mapping_;
};

template <class Raise>
void Table::dispatch(std::size_t host, Instant now, Raise raise) {
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t seen = prediction_word(host);
    if (replace_prediction(host, seen, packed(raise(unpacked(seen, now))))) break;
  }
  count_dispatch(host);
}

}  // namespace balance
