// SPDX-License-Identifier: MIT
// A request's variables in, the answer's text out, with the configuration and the table that stand now: both are looked
// at again as time goes by, and a poolwatch is started where none runs.
// Floor 3. respond() may be called by any thread; the others before threads start.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "balance/pool/draw.h"
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
  Front(ConfigFile file, Gateway gateway);

  unsigned max_connections() const { return state_.config.max_connections; }

  // For a process that answers one request: if there was no table at all and this process had to start the poolwatch,
  // waits for the first reports, at most probe.timeout.
  void wait_for_first_reports();

  // Answers one request. Never throws; never waits for anything but the processor and, at a change of the
  // configuration's file, the disk.
  std::string respond(const char* const* variables);

  // Reads the configuration again now. Any thread.
  void reload();

 private:
  // What requests are answered with. Many threads read it, each for the time of one decision, in which nothing blocks;
  // only whoever holds `looking_` writes it.
  struct State {
    Config config;
    std::optional<StateFiles> files;  // nothing: no directory could be had, so no table either
    std::optional<Table> table;
  };
  enum class Look { at_times, now };

  void look(base::Instant now, Look which);
  void take_config(Refresh what);
  void reopen_table();
  void watch(base::Instant now);
  bool is_watched(base::Instant now) const;
  // A FastCGI process serves one configuration: a request that names another one is told of, once.
  void ignore_parameter(const char* const* variables);
  std::string answer(const char* const* variables, base::Instant now);

  const Gateway gateway_;
  std::atomic<bool> ignored_parameter_{false};

  std::mutex looking_;  // one at a time looks at files and starts processes
  ConfigFile file_;
  const std::string config_file_;
  std::string trouble_;  // the last thing logged, so that it is logged once
  bool started_poolwatch_ = false;
  std::atomic<std::int64_t> next_look_ns_{0};

  std::shared_mutex mutex_;
  State state_;
  std::string boot_id_;
  std::atomic<std::uint64_t> seed_;
};

}  // namespace balance
