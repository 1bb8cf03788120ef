// SPDX-License-Identifier: MIT
#include "balance/front/front.h"

#include <poll.h>

#include <chrono>
#include <exception>
#include <utility>

#include "balance/front/decide.h"
#include "balance/ground/reply.h"
#include "balance/table/hand_files.h"
#include "balance/table/launch.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/log.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr base::Seconds kLookInterval{1};
// For poolwatch to see a changed configuration too, and make its table: until then nobody knows which of its hosts are
// dead.
constexpr base::Seconds kTableWait{3};
constexpr base::Seconds kLookIntervalWithoutTable{0.05};

std::int64_t to_ns(base::Instant instant) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(instant.time_since_epoch()).count();
}

// Where even the page for a failure could not be made.
constexpr std::string_view kLastResort =
    "Status: 500 Internal Server Error\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\n\r\n"
    "The balancer could not answer this request.\n";

bool all_heard_of(const Config& config, const Table& table) {
  for (std::size_t i = 0; i < config.hosts.size(); ++i) {
    if (config.hosts[i].probe == ProbeKind::none) continue;
    const Standing standing = table.standing(i).value_or(Standing{});
    if (standing.health == Health::unknown) return false;
  }
  return true;
}

// A file that cannot be read says nothing; poolwatch logs it.
std::vector<ByHand> kept_by_hand(const Config& config, const std::optional<StateFiles>& files) {
  const base::Result<Kept> kept = read_kept(hand_files(config, files.value_or(StateFiles{})));
  if (!kept || kept->path.empty()) return {};
  return set_by_hand_of(kept->text, config, base::wall_time() - base::now().time_since_epoch()).hosts;
}

}  // namespace

base::Result<ConfigFile> Front::read(const std::string& config_file) {
  return ConfigFile::open(config_file, base::now());
}

void Front::tell_of_faults(const base::Error& faults) {
  for (const std::string_view fault : base::split(faults.what, '\n')) {
    base::log(base::Level::error, "faulty configuration, the old one stays", {{"cause", std::string(fault)}});
  }
}

Front::Front(ConfigFile file, Gateway gateway, Relayer* relayer, std::function<void()> hand_over)
    : gateway_(gateway),
      relayer_(relayer),
      door_{relayer != nullptr || hand_over ? Relaying::built_in : Relaying::absent, std::move(hand_over)},
      file_(std::move(file)),
      config_file_(file_.config().file),
      boot_id_(base::boot_id()),
      seed_(base::random_bits()) {
  const base::Instant now = base::now();
  take_config(Refresh::changed, now);
  look(now, Look::at_times);
}

void Front::wait_for_first_reports() {
  constexpr int kPauseMs = 5;
  if (states_.back().table || !started_poolwatch_) return;
  const base::Instant deadline = base::now() + states_.back().config.probe.timeout;
  while (base::now() < deadline) {
    if (!states_.back().table) reopen_table();
    const State& state = states_.back();
    if (state.table && all_heard_of(state.config, *state.table)) return;
    poll(nullptr, 0, kPauseMs);
  }
}

void Front::reload() { look(base::now(), Look::now); }

void Front::look(base::Instant now, Look which) {
  std::unique_lock lock(looking_, std::defer_lock);
  if (which == Look::now) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  if (which == Look::at_times && to_ns(now) < next_look_ns_.load(std::memory_order_relaxed)) return;
  take_config(which == Look::now ? file_.reload(now) : file_.refresh(now), now);
  adopt_config(now);
  reopen_table();
  look_at_hand();
  watch(now);
  const bool waits = pending_ || !states_.back().table;
  next_look_ns_ = to_ns(now + (waits ? kLookIntervalWithoutTable : kLookInterval));
}

void Front::take_config(Refresh what, base::Instant now) {
  switch (what) {
    case Refresh::unchanged:
      return;
    case Refresh::faulty:
      tell_of_faults(file_.error());
      return;
    case Refresh::changed:
      break;
  }
  const Config& config = file_.config();
  base::Result<StateFiles> files = find_state(config.state_dir, config.file);
  if (!files) base::log(base::Level::error, "no shared table, choosing by weight", {{"cause", files.error().what}});
  const bool is_news = !states_.empty() && ever_relays(config) && !ever_relays(states_.back().config);
  if (is_news && relayer_ == nullptr && !door_.hand_over) {
    base::log(base::Level::warning, "the configuration relays now, which this program cannot: restart it",
              {{"config", config.file}});
  }
  pending_ = Pending{config, files ? std::optional(*std::move(files)) : std::nullopt, now};
}

void Front::adopt_config(base::Instant now) {
  if (!pending_) return;
  std::optional<Table> table;
  if (pending_->files) {
    const TableShape shape{pending_->config.fingerprint, pending_->config.hosts.size(), boot_id_};
    base::Result<Table> opened = Table::open(pending_->files->table, shape);
    if (opened && relayer_ != nullptr) relayer_->use_table(pending_->files->table, shape);
    if (opened) table = *std::move(opened);
  }
  const bool may_wait = !states_.empty() && is_watched(now) && now - pending_->since < kTableWait;
  if (!table && may_wait) return;
  put(std::move(pending_->config), std::move(pending_->files), std::move(table));
  pending_.reset();
}

void Front::put(Config config, std::optional<StateFiles> files, std::optional<Table> table) {
  std::list<State> made;
  State& next = made.emplace_back();
  if (!table) next.kept = kept_by_hand(config, files);
  next.config = std::move(config);
  next.files = std::move(files);
  next.table = std::move(table);
  if (next.files && next.config.sticky.kind == Sticky::client_wild) {
    base::Result<Table> clients = open_clients(*next.files, next.config, boot_id_);
    if (clients) next.clients = *std::move(clients);
  }
  const std::unique_lock lock(mutex_);  // not before: requests that never wait for a disk take it
  states_.splice(states_.end(), made);
  states_.remove_if(
      [&next](const State& state) { return &state != &next && state.users.load(std::memory_order_acquire) == 0; });
}

void Front::look_at_hand() {
  const State& state = states_.back();
  if (state.table) return;
  if (kept_by_hand(state.config, state.files) != state.kept) put(state.config, state.files, std::nullopt);
}

Front::Use Front::use_state() {
  const std::shared_lock lock(mutex_);
  return Use(states_.back());
}

bool Front::has_new_clients() const {
  const State& state = states_.back();
  if (state.config.sticky.kind != Sticky::client_wild) return false;
  if (state.clients && !state.clients->intact()) return true;
  const std::string path = clients_file(*state.files, state.config);
  if (state.clients && state.clients->is_current(path)) return false;
  return static_cast<bool>(open_clients(*state.files, state.config, boot_id_));
}

void Front::reopen_table() {
  const State& state = states_.back();
  if (!state.files) return;
  const std::string& path = state.files->table;
  if (state.table && state.table->intact() && state.table->is_current(path) && !has_new_clients()) return;
  const TableShape shape{state.config.fingerprint, state.config.hosts.size(), boot_id_};
  base::Result<Table> opened = Table::open(path, shape);
  // One that was only deleted serves on: what it says ages, and is then no longer believed.
  if (!opened && (!state.table || state.table->intact())) return;
  if (opened && relayer_ != nullptr) relayer_->use_table(path, shape);
  std::optional<Table> table;
  if (opened) table = *std::move(opened);
  put(state.config, state.files, std::move(table));
}

bool Front::is_watched(base::Instant now) const {
  const State& state = states_.back();
  if (!state.table) return false;
  return !is_unwatched(state.table->pool().value_or(PoolStanding{}), state.config.probe, now);
}

void Front::watch(base::Instant now) {
  const State& state = states_.back();
  if (!state.files || is_watched(now)) {
    trouble_.clear();
    return;
  }
  const base::Result<Launch> launched = launch_poolwatch(poolwatch_beside_us(), state.config.file, *state.files, now);
  if (!launched) {
    if (std::exchange(trouble_, launched.error().what) == launched.error().what) return;
    base::log(base::Level::error, "nobody watches the hosts", {{"cause", launched.error().what}});
    return;
  }
  if (*launched != Launch::started) return;
  started_poolwatch_ = true;
  constexpr std::string_view kStarted = "started poolwatch";
  if (std::exchange(trouble_, kStarted) == kStarted) return;  // and it does not stay: its own log says why
  base::log(base::Level::info, kStarted, {{"config", state.config.file}});
}

void Front::ignore_parameter(const char* const* variables) {
  constexpr std::string_view kName = "BALANCE_CONFIG=";
  if (ignored_parameter_.load(std::memory_order_relaxed)) return;
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    if (variable.substr(0, kName.size()) != kName) continue;
    if (ignored_parameter_.exchange(true)) return;
    base::log(base::Level::warning, "ignored a request's BALANCE_CONFIG, the process environment counts",
              {{"ignored", std::string(variable.substr(kName.size()))}, {"config", config_file_}});
  }
}

void Front::respond(Exchange& exchange) {
  const base::Instant now = base::now();
  if (gateway_ == Gateway::fastcgi) ignore_parameter(exchange.variables());
  try {
    if (to_ns(now) >= next_look_ns_.load(std::memory_order_relaxed)) {
      exchange.about_to_wait();
      look(now, Look::at_times);
    }
    answer(exchange, now);
    return;
  } catch (const std::exception& failure) {
    base::log(base::Level::error, "request failed", {{"cause", failure.what()}});
  }
  if (exchange.has_begun()) {
    exchange.break_off();
  } else {
    apologize(exchange);
  }
}

void Front::apologize(Exchange& exchange) {
  std::string page(kLastResort);
  try {
    const Use state = use_state();
    page = to_cgi(internal_error(state->config, format_of(raw_request(exchange.variables()))), Method::get);
  } catch (const std::exception&) {
    // the last resort, then
  }
  (void)exchange.write(page);
}

void Front::answer(Exchange& exchange, base::Instant now) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  Draw draw{seed_.fetch_add(kStep, std::memory_order_relaxed)};
  const Use state = use_state();
  const RawRequest raw = raw_request(exchange.variables());
  base::Result<Request> request = parse_request(raw, state->config);
  if (!request) {
    (void)exchange.write(to_cgi(bad_request(state->config, format_of(raw), request.error().what), Method::get));
    return;
  }
  if (state->config.local) request->may_stay_here = gateway_ == Gateway::cgi && redirects_locally(raw);
  RelayJob job{exchange, raw, *request, state->config, nullptr, std::nullopt, draw};
  if (state->table && state->table->intact()) job.table = &*state->table;
  job.kept = state->kept;
  if (state->clients && state->clients->intact()) job.clients = &*state->clients;
  if (relayer_ != nullptr && plan_for(*request, state->config, door_.relaying).action == Action::relay) {
    exchange.about_to_wait();
    relayer_->relay(std::move(job));
    return;
  }
  Decision decision =
      decide_and_dispatch(*request, state->config, {job.table, job.clients}, now, draw, door_, state->kept);
  if (!is_relay(decision)) {
    (void)exchange.write(to_cgi(decision.reply, request->method));
    return;
  }
  job.decision = std::move(decision);
  exchange.about_to_wait();
  relayer_->relay(std::move(job));
}

}  // namespace balance
