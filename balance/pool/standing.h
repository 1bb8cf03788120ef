// SPDX-License-Identifier: MIT
// What we now believe of a host (Standing) and of the pool (PoolStanding): written to the table by poolwatch alone,
// read by everyone. Floor 2: values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "balance/ground/config.h"
#include "balance/pool/by_hand.h"
#include "loadprobe/base/time.h"
#include "loadprobe/report.h"

namespace balance {

using loadprobe::Report;

enum class Health : std::uint8_t {
  unknown,  // nothing heard yet
  up,       // it answered; silence is told from `reported`
  down,     // for sure: refused, reset, or said so
  wrong,    // up, but its answers are not what they should be
};
enum class WebPort : std::uint8_t { unchecked, answers, refused, silent };
std::string_view name_of(Health health);
std::string_view name_of(WebPort port);

struct Standing {
  Health health = Health::unknown;
  Duty duty = Duty::serving;  // as the host itself says
  WebPort web = WebPort::unchecked;
  bool probe_refused = false;                     // down because its probe port refuses or resets, not by its own word
  Instant reported = base::kNever;                // the last good report
  Instant web_answered = base::kNever;            // the last good web check
  Instant up_since = base::kNever;                // (re)appearance, for slow start; kNever: long ago
  Instant changed = base::kNever;                 // of the last transition
  double cores = 0;                               // usable ones; 0: not known
  double background = 0;                          // b: runnable tasks that are no map requests
  double mean_service_seconds = 0.2;              // m: CPU time of a request on this host
  std::optional<double> running, waiting, load1;  // of the last report
  std::optional<double> map_running;              // likewise, runnable map processes: told while it is not serving
  std::string cause;  // of health and duty, at most 111 bytes: "web port: connection refused"
  ByHand by_hand;     // another word of the table than the rest (Live); candidate() and poolwatch fill it in
};

// The duty that counts: the strictest of what the host says of itself, what was set by hand, and draining for a weight
// of 0.
Duty duty_of(const HostConfig& host, const Standing& standing, Instant now);

struct PoolStanding {
  Instant beat = base::kNever;        // poolwatch was alive
  Instant started = base::kNever;     // poolwatch began
  double mean_service_seconds = 0.2;  // M, over all hosts
  double share = 1;                   // phi: our part of all dispatches
  double greatest_capacity = 1;       // the greatest cores x weight of a usable host
  double median_cores = 1;            // of the hosts that know theirs; for those that do not
  bool panic = false;                 // more than `panic` of the probed serving hosts are silent
  bool web_only = false;              // the best hosts there are stand in Tier::web_only
};

// Where a host stands in the order of choice. Lower is better.
enum class Tier : std::uint8_t {
  usable,
  backup,  // usable, but configured as a spare
  silent,  // no report for `expire`, whatever its web port
  failed,  // relayed requests to it failed just now (outcomes.h): left alone for a moment
  // Down by its probe port alone, which refuses, while its web port answered its last check: a probe that was stopped
  // or shut out everywhere must not stop the service. By weight.
  web_only,
  draining,  // usable, but only for clients that belong to it: snapshot_for() shows it to no others
  down,      // for sure: never chosen
  out,       // off, or draining and not usable: never chosen
};
inline constexpr std::size_t kTiers = 8;
std::string_view name_of(Tier tier);

// The place of a host at this instant. A host never heard of is usable until `expire` after poolwatch began; one
// without a probe while its web port is not known to be dead; a silent one in a panic if its web port answered its last
// check. When the pool's beat is older than `expire` nobody watches: every host not down or out counts as usable.
Tier tier_of(const HostConfig& host, const Standing& standing, const PoolStanding& pool, const ProbeConfig& probe,
             Instant now);

// Whether a host of this tier has the clients that stay with it: it is usable, if only for them.
inline bool keeps_clients(Tier tier) { return tier <= Tier::backup || tier == Tier::draining; }

// Whether poolwatch's last beat is too old to believe in silence.
bool is_unwatched(const PoolStanding& pool, const ProbeConfig& probe, Instant now);

}  // namespace balance
