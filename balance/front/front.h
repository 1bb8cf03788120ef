// SPDX-License-Identifier: MIT
// Answers requests with the configuration and the table that stand now: both are looked at again as time goes by, and a
// poolwatch is started where none runs.
// Floor 3. respond() may be called by any thread; the others before threads start.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "balance/front/decide.h"
#include "balance/front/exchange.h"
#include "balance/front/relayer.h"
#include "balance/table/config_file.h"
#include "balance/table/state_dir.h"
#include "balance/table/table.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

enum class Gateway : std::uint8_t { cgi, fastcgi };

class Front {
 public:
  // Fault::usage for a configuration that cannot be used, with all its faults.
  static base::Result<ConfigFile> read(const std::string& config_file);
  // One line of the log for each fault of a configuration that is not taken.
  static void tell_of_faults(const base::Error& faults);
  // `relayer` null: nobody relays here. Then `hand_over` may know who does (see RelayDoor). The relayer must outlive
  // this.
  Front(ConfigFile file, Gateway gateway, Relayer* relayer = nullptr, std::function<void()> hand_over = {});

  // What stands now. Before threads start.
  const Config& config() const { return states_.back().config; }

  // For a process that answers one request: if there was no table at all and this process had to start the poolwatch,
  // waits for the first reports, at most probe.timeout.
  void wait_for_first_reports();

  // Answers one request. Never throws; where nothing is relayed it never waits for anything but the processor, the web
  // server and, at a change of the configuration's file, the disk.
  void respond(Exchange& exchange);

  // Reads the configuration again now. Any thread.
  void reload();

 private:
  // What requests are answered with. One that was relayed may be here for minutes, so it keeps the state that it began
  // with. Nothing in a state changes while it has users; only whoever holds `looking_` puts a new one behind it.
  struct State {
    Config config;
    std::optional<StateFiles> files;  // nothing: no directory could be had, so no table either
    std::optional<Table> table;
    std::vector<ByHand> kept;      // without a table: what was set by hand, by host
    std::optional<Table> clients;  // of sticky = client-wild, where poolwatch has made it
    std::atomic<int> users{0};
  };
  class Use {
   public:
    explicit Use(State& state) : state_(state) { state_.users.fetch_add(1, std::memory_order_relaxed); }
    ~Use() { state_.users.fetch_sub(1, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    State* operator->() const { return &state_; }

   private:
    State& state_;
  };
  enum class Look { at_times, now };

  void look(base::Instant now, Look which);
  void take_config(Refresh what, base::Instant now);
  // Lets a changed configuration count once poolwatch has made its table; at once where nobody watches, or after a
  // while.
  void adopt_config(base::Instant now);
  void reopen_table();
  void watch(base::Instant now);
  bool is_watched(base::Instant now) const;
  // A FastCGI process serves one configuration: a request that names another one is told of, once.
  void ignore_parameter(const char* const* variables);
  Use use_state();
  void put(Config config, std::optional<StateFiles> files, std::optional<Table> table);
  // Without a table the file itself tells what was set by hand.
  void look_at_hand();
  // The file of sticky = client-wild has come, gone or been replaced.
  bool has_new_clients() const;
  void answer(Exchange& exchange, base::Instant now);
  void apologize(Exchange& exchange);

  const Gateway gateway_;
  Relayer* const relayer_;
  const RelayDoor door_;
  std::atomic<bool> ignored_parameter_{false};

  std::mutex looking_;  // one at a time looks at files and starts processes
  ConfigFile file_;
  const std::string config_file_;
  std::string trouble_;  // the last thing logged, so that it is logged once
  bool started_poolwatch_ = false;
  std::atomic<std::int64_t> next_look_ns_{0};
  struct Pending {
    Config config;
    std::optional<StateFiles> files;
    base::Instant since;
  };
  std::optional<Pending> pending_;

  std::shared_mutex mutex_;  // guards the list
  std::list<State> states_;  // the last one stands now; the others are still used
  std::string boot_id_;
  std::atomic<std::uint64_t> seed_;
};

}  // namespace balance
