// SPDX-License-Identifier: MIT
// What `balancectl status` shows, as a value read from the table, and its forms: text and JSON.
// Floor 3 for reading; the forms are pure. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/ground/hand_file.h"
#include "balance/pool/standing.h"
#include "balance/table/hand_files.h"
#include "balance/table/lease.h"
#include "balance/table/table.h"

namespace balance {

enum class SetBy : std::uint8_t {
  nobody,
  host,    // its own loadprobe
  hand,    // balancectl
  weight,  // 0 drains
};

struct HostView {
  std::string name;
  Duty duty = Duty::serving;      // that counts
  SetBy duty_by = SetBy::nobody;  // of the strictest word
  std::string reason;             // of the duty
  std::optional<Seconds> left;    // of a duty set by hand, where it ends by itself
  double configured_weight = 1;
  bool weight_by_hand = false;
  Tier tier = Tier::usable;
  Standing standing;            // its cause is that of the tier
  double weight = 1;            // in force
  double cores = 1;             // as counted
  double predicted = 0;         // requests in progress, drained to now
  std::uint32_t in_flight = 0;  // relayed requests
  std::uint64_t dispatches = 0;
  double share = 0;                    // 0 to 1, of the dispatches since the earlier view, or of all
  std::optional<Seconds> age;          // of the last report
  std::optional<std::size_t> clients;  // that stay with it; nothing unless they are sticky by address
};

// What was set by hand, as the file that keeps it says.
struct HandView {
  std::string path;                   // "": there is none
  std::vector<HandEntry> entries;     // those whose time is not over
  std::vector<std::string> troubles;  // one sentence each
};

struct PoolView {
  std::string table;  // its path
  std::string config;
  std::vector<std::string> faults;  // of its file as it is now: then the view is of the one that is in use
  bool watched = false;             // poolwatch's beat is fresh
  LeaseState lease;
  std::optional<Seconds> beat_age, watched_for;
  bool panic = false, web_only = false;
  double share = 1;  // phi
  double mean_service_seconds = 0.2;
  Sticky sticky = Sticky::none;
  Seconds sticky_timeout{60};
  std::uint64_t balancer_id = 0;
  std::optional<Seconds> since;  // of the earlier view that the hosts' shares count from
  std::vector<std::string> other_tables;
  HandView by_hand;
  std::vector<HostView> hosts;
  Instant now{};
};

// `wall`: seconds since 1970.
HandView hand_view(const HandFiles& files, const Config& config, Seconds wall);

// Reads everything. `earlier` may be null, and `clients` (of sticky = client-wild).
PoolView view_of(const Config& config, const Table& table, const HandView& by_hand, const PoolView* earlier,
                 Instant now, const Table* clients = nullptr);
// The same with nothing set by hand.
inline PoolView view_of(const Config& config, const Table& table, const PoolView* earlier, Instant now) {
  return view_of(config, table, HandView{}, earlier, now);
}

// Whether somebody watches the hosts: the beat is fresh and the lease, if we may look at it, is held.
bool is_alive(const PoolView& view);

std::string_view name_of(SetBy set_by);  // "" for nobody
// Lines below 'by hand', "" where nothing was set; and an object for JSON.
std::string to_text(const HandView& view, const Config& config, Seconds wall);
std::string to_json(const HandView& view);

std::string to_text(const PoolView& view);
// The line that says that the configuration's file has faults; "" for none.
std::string faults_text(const std::vector<std::string>& faults);
std::string to_json(const std::vector<std::string>& texts);  // an array
std::string to_json(const PoolView& view);
// In words: 'alive (process 123) ...', 'not running', 'HANGS (last sign of life 12s ago), though process 123
// holds the lease'.
std::string poolwatch_text(const PoolView& view);

}  // namespace balance
