// SPDX-License-Identifier: MIT
#include "balance/ctl/commands.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <utility>

#include "balance/ctl/columns.h"
#include "balance/ctl/duty_commands.h"
#include "balance/ctl/find_table.h"
#include "balance/ctl/in_use.h"
#include "balance/ctl/view.h"
#include "balance/table/config_file.h"
#include "balance/table/hand_files.h"
#include "loadprobe/base/clock.h"

namespace balance {
namespace {

constexpr int kFine = 0;
constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

int fail(const base::Error& error) {
  std::cerr << "balancectl: " << error.what << "\n";
  return error.fault == base::Fault::usage ? kBadUsage : kFailed;
}

// Faults come one a line, each with its place in front: as they are, for editors that jump there.
int fail_with_faults(const base::Error& error) {
  std::cerr << error.what << (error.what.ends_with('\n') ? "" : "\n");
  return kBadUsage;
}

int check(const Config& config) {
  for (const std::string& warning : warnings(config)) std::cerr << config.file << ": warning: " << warning << "\n";
  const TableSearch search = find_table(config, system_roots(), base::boot_id());
  if (search.conflict) std::cerr << config.file << ": warning: " << *search.conflict << "\n";
  std::cout << config.file << ": fine, " << config.hosts.size() << (config.hosts.size() == 1 ? " host\n" : " hosts\n");
  return kFine;
}

int list(const Config& config) {
  for (const HostConfig& host : config.hosts) std::cout << host.name << "\n";
  return kFine;
}

struct Look {
  std::string text;
  std::optional<PoolView> view;
  int status = kFailed;
};

Look look_without_table(const InUse& in_use, const TableSearch& search, Form form) {
  const Config& config = in_use.config;
  const std::string why = why_none(search);
  const base::Seconds wall = base::wall_time();
  const HandFiles files = hand_files(config, state_files(search.directory, config.file));
  const HandView by_hand = hand_view(files, config, wall);
  if (form == Form::text) {
    return Look{faults_text(in_use.faults) + "table      none: " + why + "\npoolwatch  " +
                    poolwatch_without_table(search) + "\n" + to_text(by_hand, config, wall),
                {},
                kFailed};
  }
  // Whether it is alive cannot be told by who may not look.
  const char* const alive = search.is_hidden ? "null" : "false";
  return Look{"{\"table\": null, \"configuration\": " + json_string(config.file) +
                  ", \"faults\": " + to_json(in_use.faults) + ", \"error\": " + json_string(why) +
                  ", \"poolwatch\": {\"alive\": " + alive + ", \"process\": null}, \"by_hand\": " + to_json(by_hand) +
                  ", \"hosts\": []}\n",
              {},
              kFailed};
}

Look look_at_table(const InUse& in_use, Form form, const PoolView* earlier) {
  const Config& config = in_use.config;
  TableSearch search = find_table(config, system_roots(), base::boot_id());
  if (!search.found) return look_without_table(in_use, search, form);
  const base::Seconds wall = base::wall_time();
  const HandView by_hand = hand_view(hand_files(config, search.found->files), config, wall);
  const std::optional<Table> clients = clients_beside(*search.found, config, base::boot_id());
  PoolView view = view_of(config, search.found->table, by_hand, earlier, base::now(), clients ? &*clients : nullptr);
  view.table = search.found->files.table;
  view.faults = in_use.faults;
  view.lease = lease_state(search.found->files.lease);
  view.other_tables = search.others;
  std::string text = form == Form::json ? to_json(view) : to_text(view);
  if (form == Form::text) {
    const std::string lines = to_text(by_hand, config, wall);
    if (!lines.empty()) text += "\n" + lines;
  }
  const int status = is_alive(view) ? kFine : kFailed;
  return Look{std::move(text), std::move(view), status};
}

Look look(const InUse& in_use, Form form, const PoolView* earlier) {
  Look look = look_at_table(in_use, form, earlier);
  if (!in_use.faults.empty()) look.status = kBadUsage;
  return look;
}

// Sleeps, and says whether the user wants an end of it.
bool interrupted_within(base::Seconds pause, const sigset_t& ends) {
  const double whole = std::floor(pause.count());
  timespec left{.tv_sec = static_cast<time_t>(whole), .tv_nsec = static_cast<long>((pause.count() - whole) * 1e9)};
  return sigtimedwait(&ends, nullptr, &left) >= 0;
}

int watch(const Command& command, const std::string& path, InUse in_use) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const bool on_terminal = isatty(STDOUT_FILENO) == 1;
  std::optional<PoolView> earlier;
  for (std::uint64_t i = 1;; ++i) {
    Look now = look(in_use, command.form, earlier ? &*earlier : nullptr);
    // Home, the new picture, and only then away with what is left of the old one: no flicker.
    if (on_terminal && i == 1) std::cout << "\x1b[2J";
    std::cout << (on_terminal ? "\x1b[H" : "") << now.text << (on_terminal ? "\x1b[J" : "\n") << std::flush;
    if (!std::cout) return kFailed;
    if (command.redraws && i >= *command.redraws) return now.status;
    if (interrupted_within(*command.watch, ends)) return kFine;
    earlier = std::move(now.view);
    // Where nothing is known to be in use, the last good one stays on show.
    if (base::Result<InUse> again = find_in_use(path, system_roots(), base::boot_id())) in_use = *std::move(again);
  }
}

int status(const Command& command, const std::string& path, const InUse& in_use) {
  if (command.watch) return watch(command, path, in_use);
  const Look now = look(in_use, command.form, nullptr);
  std::cout << now.text;
  return now.status;
}

std::vector<ByHand> kept_hosts(const HandFiles& files, const Config& config) {
  const base::Result<Kept> kept = read_kept(files);
  if (!kept) return {};
  return set_by_hand_of(kept->text, config, base::wall_time() - base::now().time_since_epoch()).hosts;
}

int explain_one(const Command& command, const Config& config) {
  const TableSearch search = find_table(config, system_roots(), base::boot_id());
  const Table* const table = search.found ? &search.found->table : nullptr;
  const HandFiles files =
      hand_files(config, search.found ? search.found->files : state_files(search.directory, config.file));
  const std::optional<Table> clients =
      search.found ? clients_beside(*search.found, config, base::boot_id()) : std::nullopt;
  const base::Result<Explanation> explanation =
      explain(command.inquiry, config, table, hand_view(files, config, base::wall_time()), kept_hosts(files, config),
              base::now(), Draw{base::random_bits()}, clients ? &*clients : nullptr);
  if (!explanation) return fail(explanation.error());
  std::cout << "table      " << (search.found ? search.found->files.table : "none: " + why_none(search)) << "\n"
            << explanation->text;
  return explanation->status < 500 ? kFine : kFailed;
}

// While the file has faults, what it was before is still of interest: that is what requests meet.
int look_at_use(const Command& command, const std::string& path) {
  const base::Result<InUse> in_use = find_in_use(path, system_roots(), base::boot_id());
  if (!in_use) return fail_with_faults(in_use.error());
  for (const std::string& fault : in_use->faults) std::cerr << fault << "\n";
  if (command.verb == Verb::status) return status(command, path, *in_use);
  std::cout << faults_text(in_use->faults);
  const int result = explain_one(command, in_use->config);
  return in_use->faults.empty() ? result : kBadUsage;
}

int run_with_config(const Command& command) {
  const std::string path = config_file_named(command.config, std::getenv("BALANCE_CONFIG"));
  if (command.verb == Verb::status || command.verb == Verb::explain) return look_at_use(command, path);
  const base::Result<Config> config = read_config(path);
  if (!config) return fail_with_faults(config.error());
  switch (command.verb) {
    case Verb::check:
      return check(*config);
    case Verb::list:
      return list(*config);
    case Verb::weight:
    case Verb::reset:
    case Verb::duty:
      return set_by_hand(command, *config);
    case Verb::status:
    case Verb::explain:
    case Verb::help:
    case Verb::version:
      break;
  }
  return kFine;
}

}  // namespace

int run(const Command& command) {
  int result = kFine;
  if (command.verb == Verb::help) {
    std::cout << usage_text();
  } else if (command.verb == Verb::version) {
    std::cout << "balancectl " VERSION "\n";
  } else {
    result = run_with_config(command);
  }
  // A full disk or a closed pipe must not look like success.
  return std::cout.flush() ? result : std::max(result, kFailed);
}

}  // namespace balance
