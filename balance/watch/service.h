// SPDX-License-Identifier: MIT
// The life of poolwatch: the configuration and its changes, the lease, the table and its loss, the loop, the end.
// Floor 3. One a process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "balance/table/affinity.h"
#include "balance/table/config_file.h"
#include "balance/table/hand_files.h"
#include "balance/table/lease.h"
#include "balance/table/old_clients.h"
#include "balance/table/state_dir.h"
#include "balance/table/table.h"
#include "balance/watch/log_file.h"
#include "balance/watch/network_prober.h"
#include "balance/watch/resolver.h"
#include "balance/watch/signals.h"
#include "balance/watch/watcher.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

enum class Stay : std::uint8_t {
  permanent,  // waits for the lease as long as it takes
  on_demand,  // leaves when another one holds or wants the lease, or nobody has sent a request anywhere for kIdle
};

struct ServiceOptions {
  std::string config_file;  // absolute
  Stay stay = Stay::permanent;
  std::string notify_socket;   // of a supervisor, or ""
  std::optional<LogFile> log;  // where standard error goes
};

class Service {
 public:
  static constexpr Seconds kIdle{60};

  // Fault::usage: the configuration. Fault::io: the system refuses.
  static base::Result<std::unique_ptr<Service>> create(ServiceOptions options);

  // Watches until a signal, or whatever else ends it: then ok. An error where it never came so far: there is no place
  // for the table, or another configuration has it (Fault::usage). Later it keeps trying.
  base::Status run();

 private:
  Service(ServiceOptions options, ConfigFile config, Signals signals);

  enum class Next : std::uint8_t {
    watch,
    acquire,  // the lease is another's, or the files lie elsewhere now
    leave,
  };

  base::Result<Next> acquire();
  base::Result<Next> take_lease();
  base::Status open_table();
  base::Status begin_watching();
  Next watch();
  Next look_around(Instant now);
  Next look_at_everything(Instant now);
  Next look_at_lease();
  void look_at_table();
  enum class Look : std::uint8_t { if_changed, now };
  void look_at_hand(Look look);
  std::optional<SetByHand> kept_by_hand(const Config& config) const;
  // Keeps the copy of the configuration that is watched by, and makes it anew where it was taken away.
  void keep_used();
  // Keeps the file of sticky = client-wild for these hosts; `before` as in make_clients().
  void keep_clients(const Config& config, const ClientsBefore& before);
  Next look_at_config(Refresh refresh, Instant now);
  base::Status change_config(Instant now);
  Next look_for_reasons_to_leave(Instant now);
  std::uint64_t all_dispatches() const;
  TableShape shape() const;
  Signals::Come rest(Seconds time);
  Next leave(const std::string& cause) const;
  void say_once(const base::Error& error);

  ServiceOptions options_;
  ConfigFile config_;
  Signals signals_;
  StateFiles files_;
  Resolver resolver_;
  std::optional<Lease> lease_;
  std::optional<Table> table_;
  std::optional<Table> clients_;  // of sticky = client-wild
  OldClients old_clients_;
  std::optional<NetworkProber> prober_;
  std::optional<Watcher> watcher_;
  std::string used_;  // the text that is watched by; config_ may be a newer one
  HandMark hand_mark_;
  Seconds wall_ahead_{0};          // of the monotonic clock, when the ends of duties were put into the table
  bool change_pending_ = false;    // config_ is newer than what is watched by
  std::vector<std::string> said_;  // troubles that are not over yet
  bool trouble_ = false;           // in this look around
  Instant looked_ = base::kNever;
  Instant requested_ = base::kNever;  // when the count of dispatches last moved
  std::uint64_t dispatches_ = 0;
};

}  // namespace balance
