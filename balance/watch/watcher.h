// SPDX-License-Identifier: MIT
// What poolwatch does with the pool: asks each host in its turn, lets the answers change what it believes, and puts
// that into the table. Time comes in, the network is behind Prober, log lines come out as values.
// Floor 3 (it writes the table). Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/pool/belief.h"
#include "balance/pool/learning.h"
#include "balance/table/table.h"
#include "balance/watch/prober.h"
#include "loadprobe/base/time.h"

namespace balance {

// One transition, for the log.
struct Notice {
  enum class Weight : std::uint8_t { good, bad } weight = Weight::good;
  std::string what;         // "host down"
  std::string host;         // "": the pool
  std::string cause;        // "web port: connection refused"
  bool is_by_hand = false;  // the file of what was set by hand may tell why
};

class Watcher {
 public:
  // How often the table is told that we are alive, and silence is looked for.
  static constexpr Seconds kBeat{0.1};

  // Prober and table are another's and must live longer (the table until use()). What the table already holds, of a
  // poolwatch before this one, stays in it until the first word of each host.
  Watcher(Config config, Prober& prober, Table& table, Instant now);
  // The same, with what an earlier watcher believed and learned of the hosts that stay: `was[i]` is the index that host
  // i had there.
  Watcher(Config config, Prober& prober, Table& table, Instant now, const Watcher& before,
          const std::vector<std::optional<std::size_t>>& was);

  // Takes in what has ended, asks whom it is time to ask, and publishes what has changed.
  std::vector<Notice> turn(Instant now);
  // When turn() should come next, if nothing ends before: not at once, so that much is done together.
  Instant wake() const;

  // Another file took the table's place: everything is published into that from now on.
  void use(Table& table);

  const Config& config() const { return config_; }
  const std::vector<Standing>& standings() const { return standings_; }
  const PoolStanding& pool() const { return pool_; }

 private:
  struct Turns {  // of one kind of question to one host
    Instant due{};
    bool begun = false;  // at least once
    bool under_way = false;
    bool ended_once = false;
  };
  struct Host {
    Belief belief;
    Tier tier = Tier::usable;
    Turns probe, web;
    ByHand by_hand;  // as the table has it
    Duty duty_by_hand = Duty::serving;
    std::uint64_t dispatched = 0;  // when the probe under way began
  };

  void hear(const Outcome& outcome, Instant now, std::vector<Notice>& notices);
  void hear_probe(std::size_t index, const Outcome& outcome, Instant now);
  void learn_from(std::size_t index, const Report& report, Instant now);
  void ask(std::size_t index, Instant now);
  void beat(Instant now, std::vector<Notice>& notices);
  bool has_heard_all() const;
  void settle(std::size_t index, const Standing& before, Instant now, std::vector<Notice>& notices);
  Limits limits(std::size_t index) const;
  void look_at_hand(std::size_t index, Instant now, std::vector<Notice>& notices);

  Config config_;
  Prober* prober_;
  Table* table_;
  std::vector<Host> hosts_;
  std::vector<Standing> standings_;  // of hosts_, as the pool's rules want them
  PoolMemory memory_;
  PoolStanding pool_;
  Instant beat_due_{};
  Instant last_turn_{};
  Instant blind_until_ = base::kNever;  // nothing was heard while we stood still: no silence is believed before
};

// Where each host of `now` stood in `before`: hosts of the same name, URLs, script and probe.
std::vector<std::optional<std::size_t>> places_before(const Config& now, const Config& before);

}  // namespace balance
