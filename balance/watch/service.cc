// SPDX-License-Identifier: MIT
// See service.h.
#include "balance/watch/service.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "balance/table/used_config.h"
#include "balance/watch/log_lines.h"
#include "balance/watch/notify.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/log.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using base::Level;

constexpr Seconds kLookInterval{1};     // at files and wishes
constexpr Seconds kLeaseInterval{0.2};  // while another one holds the lease
constexpr Seconds kTryAgain{1};

// A lock on this file says that a permanent poolwatch waits: one that runs on demand leaves in its favour.
std::string wish_file(const StateFiles& files) { return files.lease + ".wanted"; }

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// Each host may need a kept connection, a web check to several addresses, and a kept web connection.
void raise_descriptor_limit(std::size_t hosts) {
  const rlim_t wanted = 64 + 4 * static_cast<rlim_t>(hosts);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    base::log(Level::warning, "few descriptors",
              {{"limit", std::to_string(limit.rlim_cur)}, {"wanted", std::to_string(wanted)}});
  }
}

}  // namespace

base::Result<std::unique_ptr<Service>> Service::create(ServiceOptions options) {
  // On demand it serves those who go by the configuration that was in use, too.
  base::Result<ConfigFile> config = options.stay == Stay::on_demand
                                        ? ConfigFile::open_or_used(options.config_file, base::now())
                                        : ConfigFile::open(options.config_file, base::now());
  if (!config) return config.error();
  if (config->is_faulty()) log_faults(config->error());
  base::Result<Signals> signals = Signals::create();
  if (!signals) return signals.error();
  return std::unique_ptr<Service>(new Service(std::move(options), *std::move(config), *std::move(signals)));
}

Service::Service(ServiceOptions options, ConfigFile config, Signals signals)
    : options_(std::move(options)), config_(std::move(config)), signals_(std::move(signals)) {}

base::Status Service::run() {
  bool has_watched = false;
  while (true) {
    base::Result<Next> next = acquire();
    if (!next && !has_watched) return next.error();
    if (!next) {
      say_once(next.error());
      if (rest(kTryAgain).leave) next = leave("signal");
    } else if (*next == Next::watch) {
      has_watched = true;
      next = watch();
    }
    if (next && *next == Next::leave) break;
  }
  notify_supervisor(options_.notify_socket, "STOPPING=1");
  return base::ok();
}

Service::Next Service::leave(const std::string& cause) const {
  base::log(Level::info, "leaving", {{"cause", cause}});
  return Next::leave;
}

// One line for one trouble, however long it lasts.
void Service::say_once(const base::Error& error) {
  trouble_ = true;
  if (std::find(said_.begin(), said_.end(), error.what) != said_.end()) return;
  said_.push_back(error.what);
  base::log(Level::error, "cannot keep the table", {{"cause", error.what}});
}

Signals::Come Service::rest(Seconds time) {
  pollfd signal{signals_.fd(), POLLIN, 0};
  ::poll(&signal, 1, static_cast<int>(std::ceil(time.count() * 1000)));
  return signals_.take();
}

base::Result<Service::Next> Service::acquire() {
  const base::Result<StateFiles> files = find_state(config_.config().state_dir, options_.config_file);
  if (!files) return files.error();
  if (files->lease != files_.lease) lease_.reset();  // that of another place
  files_ = *files;
  base::Result<Next> next = take_lease();
  if (!next || *next != Next::watch) return next;
  if (base::Status opened = open_table(); !opened) return opened.error();
  if (base::Status begun = begin_watching(); !begun) return begun.error();
  said_.clear();
  base::log(Level::info, "watching",
            {{"hosts", std::to_string(config_.config().hosts.size())}, {"table", files_.table}});
  notify_supervisor(options_.notify_socket, "READY=1\nSTATUS=watching");
  return Next::watch;
}

base::Result<Service::Next> Service::take_lease() {
  std::optional<Lease> wish;
  while (!lease_) {
    base::Result<Lease> taken = Lease::take(files_.lease, options_.config_file);
    if (taken) {
      lease_ = *std::move(taken);
      break;
    }
    if (taken.error().fault != base::Fault::unavailable) return taken.error();
    const auto other = conflict(lease_state(files_.lease), files_, options_.config_file);
    if (other) return base::Error{base::Fault::usage, *other};
    if (options_.stay == Stay::on_demand) return leave(taken.error().what);
    if (!wish) {
      base::log(Level::info, "waiting for the lease", {{"cause", taken.error().what}});
      notify_supervisor(options_.notify_socket, "READY=1\nSTATUS=waiting for the lease");
      if (base::Result<Lease> wished = Lease::take(wish_file(files_))) wish = *std::move(wished);
    }
    if (rest(kLeaseInterval).leave) return leave("signal");
  }
  // It may have been a long wait.
  if (config_.reload(base::now()) == Refresh::changed) return Next::acquire;
  return Next::watch;
}

TableShape Service::shape() const {
  return {config_.config().fingerprint, config_.config().hosts.size(), base::boot_id()};
}

base::Status Service::open_table() {
  base::Result<Table> table = Table::open(files_.table, shape());
  if (!table) {
    const std::optional<SetByHand> kept = kept_by_hand(config_.config());
    table = Table::create(files_.table, shape(), {}, kept ? &*kept : nullptr);
  }
  if (!table) return table.error();
  table_ = *std::move(table);
  keep_clients(config_.config(), {});
  return base::ok();
}

// For a new table, before anyone sees it.
std::optional<SetByHand> Service::kept_by_hand(const Config& config) const {
  const base::Result<Kept> kept = read_kept(hand_files(config, files_));
  if (!kept) return std::nullopt;
  return set_by_hand_of(kept->text, config, base::wall_time() - base::now().time_since_epoch());
}

void Service::look_at_hand(Look look) {
  const Config& config = watcher_->config();
  const HandFiles files = hand_files(config, files_);
  const HandMark mark = mark_of(files);
  const Seconds wall_ahead = base::wall_time() - base::now().time_since_epoch();
  const bool was_set = std::fabs((wall_ahead - wall_ahead_).count()) > 0.5;  // the wall clock
  if (look == Look::if_changed && mark == hand_mark_ && !was_set) return;
  const base::Result<Kept> kept = apply_kept(files, config, *table_);
  if (!kept) return say_once(kept.error());
  const bool is_news = mark != hand_mark_;
  hand_mark_ = mark;
  wall_ahead_ = wall_ahead;
  if (!is_news) return;
  log_troubles(*kept, config);
}

base::Status Service::begin_watching() {
  const Config& config = config_.config();
  raise_descriptor_limit(config.hosts.size());
  base::Result<NetworkProber> prober = NetworkProber::create(config.hosts, config.probe, config.relay, resolver_);
  if (!prober) return prober.error();
  prober_ = *std::move(prober);
  const Instant now = base::now();
  watcher_ = Watcher(config, *prober_, *table_, now);
  change_pending_ = false;
  looked_ = requested_ = now;
  dispatches_ = all_dispatches();
  look_at_hand(Look::now);
  used_ = config_.text();
  keep_used();
  return base::ok();
}

void Service::keep_used() {
  const base::Status kept = keep_used_config(files_, options_.config_file, used_);
  if (!kept) say_once(kept.error());
}

Service::Next Service::watch() {
  std::vector<pollfd> polls{{signals_.fd(), POLLIN, 0}};
  while (true) {
    const Instant now = base::now();
    std::vector<Notice> notices = watcher_->turn(now);
    add_reasons(notices, hand_files(watcher_->config(), files_));
    log_notices(notices);
    if (now - looked_ >= kLookInterval) {
      looked_ = now;
      if (const Next next = look_around(now); next != Next::watch) return next;
    }
    prober_->wait(polls, now, watcher_->wake() - now);
    if (polls.front().revents == 0) continue;
    const Signals::Come come = signals_.take();
    if (come.leave) return leave("signal");
    if (!come.reload) continue;
    const Instant later = base::now();
    const Refresh refresh = config_.reload(later);
    if (refresh == Refresh::unchanged)
      base::log(Level::info, "configuration unchanged", {{"file", options_.config_file}});
    if (const Next next = look_at_config(refresh, later); next != Next::watch) return next;
  }
}

Service::Next Service::look_around(Instant now) {
  trouble_ = false;
  if (options_.log) options_.log->look();
  const Next next = look_at_everything(now);
  if (!trouble_) said_.clear();
  return next;
}

Service::Next Service::look_at_everything(Instant now) {
  if (const Next next = look_at_lease(); next != Next::watch) return next;
  if (const Next next = look_at_config(config_.refresh(now), now); next != Next::watch) return next;
  look_at_table();
  if (!is_there(files_.used)) keep_used();
  look_at_hand(Look::if_changed);
  keep_clients(watcher_->config(), {&watcher_->config(), clients_ ? &*clients_ : nullptr});
  for (const std::string& path : old_clients_.turn(files_, watcher_->config(), base::wall_time(), now)) {
    base::log(Level::info, "removed the clients of former hosts", {{"file", path}});
  }
  return look_for_reasons_to_leave(now);
}

Service::Next Service::look_at_lease() {
  if (lease_->is_current()) return Next::watch;
  // Its directory may be gone too; this makes it anew.
  const base::Result<StateFiles> files = find_state(config_.config().state_dir, options_.config_file);
  base::Result<Lease> taken =
      files ? Lease::take(files->lease, options_.config_file) : base::Result<Lease>(files.error());
  if (taken) {
    files_ = *files;
    lease_ = *std::move(taken);
    base::log(Level::warning, "lease taken again", {{"cause", files_.lease + ": was deleted or replaced"}});
    return Next::watch;
  }
  if (taken.error().fault != base::Fault::unavailable) {
    say_once(taken.error());
    return Next::watch;
  }
  base::log(Level::warning, "lease lost", {{"cause", taken.error().what}});
  lease_.reset();
  return Next::acquire;
}

void Service::look_at_table() {
  const bool intact = table_->intact();
  if (intact && table_->is_current(files_.table)) return;
  Table::Heritage heritage;
  if (intact) {
    heritage.from = &*table_;
    for (std::size_t i = 0; i < table_->hosts(); ++i) heritage.was.emplace_back(i);
  }
  const Config& watched = watcher_->config();
  const TableShape same{watched.fingerprint, watched.hosts.size(), base::boot_id()};
  const std::optional<SetByHand> kept = kept_by_hand(watched);
  base::Result<Table> made = Table::create(files_.table, same, heritage, kept ? &*kept : nullptr);
  if (!made) return say_once(made.error());
  table_ = *std::move(made);
  watcher_->use(*table_);
  look_at_hand(Look::now);
  base::log(Level::warning, "table made anew",
            {{"cause", files_.table + (intact ? ": was deleted or replaced" : ": was damaged")}});
}

void Service::keep_clients(const Config& config, const ClientsBefore& before) {
  if (config.sticky.kind != Sticky::client_wild) return clients_.reset();
  if (clients_ && clients_->intact() && clients_->is_current(clients_file(files_, config))) return;
  base::Result<Table> made = make_clients(files_, config, base::boot_id(), before);
  if (made) {
    clients_ = *std::move(made);
  } else if (made.error().fault != base::Fault::unavailable) {  // else another one is at it
    say_once(made.error());
  }
}

Service::Next Service::look_at_config(Refresh refresh, Instant now) {
  if (refresh == Refresh::faulty) log_faults(config_.error());
  if (refresh == Refresh::changed) change_pending_ = true;
  if (!change_pending_) return Next::watch;
  const base::Result<StateFiles> files = find_state(config_.config().state_dir, options_.config_file);
  if (files && files->table != files_.table) {
    lease_.reset();
    return Next::acquire;
  }
  const base::Status changed = change_config(now);
  if (!changed) say_once(changed.error());
  return Next::watch;
}

base::Status Service::change_config(Instant now) {
  const Config& config = config_.config();
  const std::vector<std::optional<std::size_t>> places = places_before(config, watcher_->config());
  raise_descriptor_limit(config.hosts.size());
  base::Result<NetworkProber> prober = NetworkProber::create(config.hosts, config.probe, config.relay, resolver_);
  if (!prober) return prober.error();
  const std::optional<SetByHand> kept = kept_by_hand(config);
  base::Result<Table> table =
      Table::create(files_.table, shape(), Table::Heritage{&*table_, places}, kept ? &*kept : nullptr);
  if (!table) return table.error();
  keep_clients(config, {&watcher_->config(), clients_ ? &*clients_ : nullptr});
  prober_ = *std::move(prober);
  table_ = *std::move(table);
  watcher_ = Watcher(config, *prober_, *table_, now, *watcher_, places);
  look_at_hand(Look::now);
  used_ = config_.text();
  keep_used();
  change_pending_ = false;
  base::log(Level::info, "configuration changed",
            {{"file", options_.config_file}, {"hosts", std::to_string(config.hosts.size())}});
  return base::ok();
}

std::uint64_t Service::all_dispatches() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < table_->hosts(); ++i) sum += table_->dispatches(i);
  return sum;
}

Service::Next Service::look_for_reasons_to_leave(Instant now) {
  if (options_.stay == Stay::permanent) return Next::watch;
  if (lease_state(wish_file(files_)).holding == Holding::held) return leave("a permanent poolwatch waits");
  const std::uint64_t dispatches = all_dispatches();
  if (dispatches != dispatches_) requested_ = now;
  dispatches_ = dispatches;
  if (now - requested_ < kIdle) return Next::watch;
  return leave("no requests for " + base::to_text(kIdle));
}

}  // namespace balance
