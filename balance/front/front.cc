// SPDX-License-Identifier: MIT
#include "balance/front/front.h"

#include <poll.h>

#include <chrono>
#include <exception>
#include <utility>

#include "balance/front/decide.h"
#include "balance/ground/reply.h"
#include "balance/table/launch.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/log.h"

namespace balance {
namespace {

constexpr base::Seconds kLookInterval{1};
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

}  // namespace

base::Result<ConfigFile> Front::read(const std::string& config_file) {
  return ConfigFile::open(config_file, base::now());
}

Front::Front(ConfigFile file, Gateway gateway)
    : gateway_(gateway),
      file_(std::move(file)),
      config_file_(file_.config().file),
      boot_id_(base::boot_id()),
      seed_(base::random_bits()) {
  take_config(Refresh::changed);
  look(base::now(), Look::at_times);
}

void Front::wait_for_first_reports() {
  constexpr int kPauseMs = 5;
  if (state_.table || !started_poolwatch_) return;
  const base::Instant deadline = base::now() + state_.config.probe.timeout;
  while (base::now() < deadline) {
    if (!state_.table) reopen_table();
    if (state_.table && all_heard_of(state_.config, *state_.table)) return;
    poll(nullptr, 0, kPauseMs);
  }
}

void Front::reload() { look(base::now(), Look::now); }

void Front::look(base::Instant now, Look which) {
  if (which == Look::at_times && to_ns(now) < next_look_ns_.load(std::memory_order_relaxed)) return;
  std::unique_lock lock(looking_, std::defer_lock);
  if (which == Look::now) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  if (which == Look::at_times && to_ns(now) < next_look_ns_.load(std::memory_order_relaxed)) return;
  take_config(which == Look::now ? file_.reload(now) : file_.refresh(now));
  reopen_table();
  watch(now);
  next_look_ns_ = to_ns(now + (state_.table ? kLookInterval : kLookIntervalWithoutTable));
}

void Front::take_config(Refresh what) {
  switch (what) {
    case Refresh::unchanged:
      return;
    case Refresh::faulty:
      base::log(base::Level::error, "faulty configuration, the old one stays", {{"cause", file_.error().what}});
      return;
    case Refresh::changed:
      break;
  }
  State next{file_.config(), std::nullopt, std::nullopt};
  base::Result<StateFiles> files = find_state(next.config.state_dir, next.config.file);
  if (files) {
    next.files = *std::move(files);
  } else {
    base::log(base::Level::error, "no shared table, choosing by weight", {{"cause", files.error().what}});
  }
  const std::unique_lock lock(mutex_);
  state_ = std::move(next);
}

void Front::reopen_table() {
  if (!state_.files) return;
  const std::string& path = state_.files->table;
  if (state_.table && state_.table->intact() && state_.table->is_current(path)) return;
  base::Result<Table> opened =
      Table::open(path, TableShape{state_.config.fingerprint, state_.config.hosts.size(), boot_id_});
  // One that was only deleted serves on: what it says ages, and is then no longer believed.
  if (!opened && state_.table && state_.table->intact()) return;
  const std::unique_lock lock(mutex_);
  state_.table.reset();
  if (opened) state_.table = *std::move(opened);
}

bool Front::is_watched(base::Instant now) const {
  if (!state_.table) return false;
  return !is_unwatched(state_.table->pool().value_or(PoolStanding{}), state_.config.probe, now);
}

void Front::watch(base::Instant now) {
  if (!state_.files || is_watched(now)) {
    trouble_.clear();
    return;
  }
  const base::Result<Launch> launched = launch_poolwatch(poolwatch_beside_us(), state_.config.file, *state_.files, now);
  if (!launched) {
    if (std::exchange(trouble_, launched.error().what) == launched.error().what) return;
    base::log(base::Level::error, "nobody watches the hosts", {{"cause", launched.error().what}});
    return;
  }
  if (*launched != Launch::started) return;
  started_poolwatch_ = true;
  constexpr std::string_view kStarted = "started poolwatch";
  if (std::exchange(trouble_, kStarted) == kStarted) return;  // and it does not stay: its own log says why
  base::log(base::Level::info, kStarted, {{"config", state_.config.file}});
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

std::string Front::respond(const char* const* variables) {
  const base::Instant now = base::now();
  if (gateway_ == Gateway::fastcgi) ignore_parameter(variables);
  try {
    look(now, Look::at_times);
    return answer(variables, now);
  } catch (const std::exception& failure) {
    base::log(base::Level::error, "request failed", {{"cause", failure.what()}});
  }
  try {
    const std::shared_lock lock(mutex_);
    return to_cgi(internal_error(state_.config, format_of(raw_request(variables))), Method::get);
  } catch (const std::exception&) {
    return std::string(kLastResort);
  }
}

std::string Front::answer(const char* const* variables, base::Instant now) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  Draw draw{seed_.fetch_add(kStep, std::memory_order_relaxed)};
  const std::shared_lock lock(mutex_);
  const RawRequest raw = raw_request(variables);
  base::Result<Request> request = parse_request(raw, state_.config);
  if (!request) return to_cgi(bad_request(state_.config, format_of(raw), request.error().what), Method::get);
  Table* table = state_.table && state_.table->intact() ? &*state_.table : nullptr;
  return to_cgi(decide_and_dispatch(*request, state_.config, table, now, draw).reply, request->method);
}

}  // namespace balance
