// SPDX-License-Identifier: MIT
#include "balance/ctl/duty_commands.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "balance/ctl/columns.h"
#include "balance/ctl/find_table.h"
#include "balance/ctl/quiet.h"
#include "balance/ctl/set_by_hand.h"
#include "balance/table/hand_files.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr int kFine = 0, kFailed = 1, kBadUsage = 2;
constexpr Seconds kLookInterval{0.05};

int fail(const base::Error& error) {
  std::cerr << "balancectl: " << error.what << "\n";
  return error.fault == base::Fault::usage ? kBadUsage : kFailed;
}

const HostConfig* host_named(const Config& config, const std::string& name) {
  const auto found = std::ranges::find(config.hosts, name, &HostConfig::name);
  return found == config.hosts.end() ? nullptr : &*found;
}

base::Error no_host(const Config& config, const std::string& name) {
  std::vector<std::string_view> names;
  for (const HostConfig& host : config.hosts) names.push_back(host.name);
  const std::string near = base::nearest(name, names);
  return base::Error{base::Fault::usage, config.file + ": there is no host '" + base::escaped(name, 70) + "'" +
                                             (near.empty() ? "" : "; the nearest is '" + near + "'")};
}

void set_duty(const Command& command, HandEntry& entry, std::int64_t now) {
  forget_duty(entry);
  entry.duty = *command.duty;
  entry.reason = hand_reason(command.reason);
  if (entry.duty == Duty::serving && entry.reason.empty()) return;
  entry.since = now;
  if (command.lasts) entry.until = static_cast<std::int64_t>(std::ceil((base::wall_time() + *command.lasts).count()));
}

base::Status change(const Command& command, const Config& config, std::vector<HandEntry>& entries, std::int64_t now) {
  for (const std::string& name : command.hosts) {
    const bool is_kept = std::ranges::find(entries, name, &HandEntry::host) != entries.end();
    if (host_named(config, name) == nullptr && !(command.verb == Verb::reset && is_kept)) return no_host(config, name);
    HandEntry& entry = entry_of(entries, name);
    if (command.verb == Verb::weight) {
      entry.weight = command.weight;
    } else if (command.verb == Verb::reset) {
      forget_duty(entry);
      entry.weight.reset();
    } else {
      set_duty(command, entry, now);
    }
  }
  return base::ok();
}

std::string said_of(const Command& command, const Config& config, const std::string& name) {
  const HostConfig* const host = host_named(config, name);
  const std::string configured = host != nullptr ? base::to_text(host->weight) : "";
  if (command.verb == Verb::weight) {
    return "weight " + base::to_text(command.weight.value_or(0)) + " (configured: " + configured + ")";
  }
  if (command.verb == Verb::reset) return host != nullptr ? "as configured: weight " + configured : "forgotten";
  std::string text(name_of(*command.duty));
  if (command.lasts && *command.duty != Duty::serving) text += " for " + base::to_text(*command.lasts);
  return command.reason.empty() ? text : text + ": " + hand_reason(command.reason);
}

// What the host says of itself stands, whatever is said here.
void tell_what_stands(const Command& command, const Config& config) {
  if (command.verb != Verb::duty || *command.duty != Duty::serving) return;
  const TableSearch search = find_table(config, system_roots(), base::boot_id());
  for (const std::string& name : command.hosts) {
    const HostConfig* const host = host_named(config, name);
    if (host == nullptr) continue;
    if (search.found) {
      const auto index = static_cast<std::size_t>(host - config.hosts.data());
      const Standing standing = search.found->table.standing(index).value_or(Standing{});
      if (standing.duty != Duty::serving) {
        std::cerr << "balancectl: " << name << " is still " << name_of(standing.duty) << ": its own loadprobe says so ("
                  << standing.cause << ")\n";
      }
    }
    if (host->weight <= 0) std::cerr << "balancectl: " << name << " has weight 0 in " << config.file << "\n";
  }
}

HostAtWork at_work(const Config& config, std::size_t index, const TableSearch& search, Instant now) {
  HostAtWork host;
  if (!search.found) return host;
  const Table& table = search.found->table;
  host.dispatches = table.dispatches(index);
  host.in_flight = table.in_flight(index);
  host.standing = table.standing(index).value_or(Standing{});
  const HostConfig& there = config.hosts[index];
  // An exporter counts itself among those that run.
  const bool counts_itself = there.probe == ProbeKind::node_exporter && host.standing.running;
  if (counts_itself) host.standing.running = std::max(0.0, *host.standing.running - 1);
  host.reports = there.probe != ProbeKind::none &&
                 !is_unwatched(table.pool().value_or(PoolStanding{}), config.probe, now) &&
                 now - host.standing.reported < config.probe.expire_of(there.probe);
  return host;
}

// What is still going on, by host; empty: nothing.
struct Waiting {
  const Config& config;
  std::map<std::string, Quiet> hosts;
  std::map<std::string, std::string> at_work;
  std::vector<std::string> given_up;  // that somebody else has made ready meanwhile

  void look(Instant now) {
    const TableSearch search = find_table(config, system_roots(), base::boot_id());
    for (auto& [name, quiet] : hosts) {
      const auto index = static_cast<std::size_t>(host_named(config, name) - config.hosts.data());
      const std::optional<std::string> what = quiet.look(balance::at_work(config, index, search, now), now);
      if (what) {
        at_work[name] = *what;
      } else {
        at_work.erase(name);
      }
      if (search.found && is_ready(search.found->table, index, now)) given_up.push_back(name);
    }
  }
  bool is_ready(const Table& table, std::size_t index, Instant now) const {
    Standing standing = table.standing(index).value_or(Standing{});
    standing.by_hand = table.live(index, now).by_hand;
    return duty_of(config.hosts[index], standing, now) == Duty::serving;
  }
};

// Sleeps, and says whether the user wants an end of it.
bool interrupted_within(Seconds pause, const sigset_t& ends) {
  const timespec left{.tv_sec = 0, .tv_nsec = static_cast<long>(pause.count() * 1e9)};
  return sigtimedwait(&ends, nullptr, &left) >= 0;
}

int stop_waiting(const Waiting& waiting, const std::string& why) {
  for (const auto& [name, what] : waiting.at_work) {
    std::cerr << "balancectl: " << name << ": " << why << "; " << what << "\n";
  }
  return kFailed;
}

int wait(const Command& command, const Config& config) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const Instant began = base::now();
  Waiting waiting{config, {}, {}, {}};
  for (const std::string& name : command.hosts) waiting.hosts.emplace(name, Quiet(config.drain_wait, began));
  for (;;) {
    const Instant now = base::now();
    waiting.look(now);
    if (!waiting.given_up.empty()) {
      std::cerr << "balancectl: " << waiting.given_up.front() << " serves again; not waiting any longer\n";
      return kFailed;
    }
    if (waiting.at_work.empty()) break;
    if (command.timeout && now - began >= *command.timeout) {
      return stop_waiting(waiting, "not idle within " + base::to_text(*command.timeout) + ", " +
                                       std::string(name_of(*command.duty)) + " stays");
    }
    if (interrupted_within(kLookInterval, ends)) {
      return stop_waiting(waiting, "interrupted, " + std::string(name_of(*command.duty)) + " stays");
    }
  }
  const std::string after = age_text(base::now() - began);
  for (const std::string& name : command.hosts) std::cout << name << ": idle, after " << after << "\n";
  return kFine;
}

}  // namespace

int set_by_hand(const Command& command, const Config& config) {
  bool is_nobody_left = false;
  const base::Result<HandChanged> done =
      change_by_hand(config, system_roots(), base::boot_id(), [&](std::vector<HandEntry>& entries, std::int64_t now) {
        base::Status status = change(command, config, entries, now);
        is_nobody_left = leaves_nobody(config, entries, now);
        return status;
      });
  if (!done) return fail(done.error());
  for (const std::string& note : done->notes) std::cerr << "balancectl: " << note << "\n";
  for (const std::string& name : command.hosts) std::cout << name << ": " << said_of(command, config, name) << "\n";
  std::cout.flush();
  tell_what_stands(command, config);
  if (is_nobody_left) std::cerr << "balancectl: warning: no host is left that takes new clients: they get status 503\n";
  return command.wait ? wait(command, config) : kFine;
}

}  // namespace balance
