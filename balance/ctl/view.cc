// SPDX-License-Identifier: MIT
#include "balance/ctl/view.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "balance/ctl/columns.h"
#include "balance/pool/prediction.h"
#include "balance/pool/snapshot.h"

namespace balance {
namespace {

std::optional<Seconds> age_at(Instant instant, Instant now) {
  if (instant == base::kNever) return std::nullopt;
  return std::max(now - instant, Seconds{0});
}

HostView host_view(const Config& config, std::size_t index, const Table& table, const PoolStanding& pool, Instant now) {
  const HostConfig& host = config.hosts[index];
  HostView view;
  view.name = host.name;
  view.standing = table.standing(index).value_or(Standing{});
  view.weight = host.weight;
  view.cores = cores_of(host, view.standing, pool);
  const Live live = table.live(index, now);
  const Candidate looked = candidate(index, host, view.standing, live, pool, config.probe, now);
  view.tier = looked.tier;
  if (view.tier == Tier::failed) view.standing.cause = cause_of(live.outcomes);
  view.in_flight = live.in_flight;
  view.predicted = drained(looked.prediction, drain_of(looked), now).requests;
  view.dispatches = table.dispatches(index);
  view.age = age_at(view.standing.reported, now);
  return view;
}

// A smaller number than before is another table's.
std::uint64_t dispatched_since(const HostView& host, const PoolView* earlier, std::size_t index) {
  if (earlier == nullptr || index >= earlier->hosts.size()) return host.dispatches;
  const std::uint64_t before = earlier->hosts[index].dispatches;
  return host.dispatches >= before ? host.dispatches - before : host.dispatches;
}

void fill_shares(PoolView& view, const PoolView* earlier) {
  std::vector<double> counts;
  double sum = 0;
  for (std::size_t i = 0; i < view.hosts.size(); ++i) {
    counts.push_back(static_cast<double>(dispatched_since(view.hosts[i], earlier, i)));
    sum += counts.back();
  }
  for (std::size_t i = 0; i < view.hosts.size(); ++i) view.hosts[i].share = sum > 0 ? counts[i] / sum : 0;
}

std::string health_text(const HostView& host) {
  std::string text{name_of(host.tier)};
  if (host.standing.health == Health::wrong) text = "wrong";
  if (host.standing.health == Health::unknown && host.tier == Tier::usable) text = "unknown";
  return text;
}

std::string pool_text(const PoolView& view) {
  std::array<std::size_t, kTiers> tiers{};
  for (const HostView& host : view.hosts) tiers[static_cast<std::size_t>(host.tier)] += 1;
  std::string text = std::to_string(view.hosts.size()) + (view.hosts.size() == 1 ? " host:" : " hosts:");
  bool first = true;
  for (const Tier tier :
       {Tier::usable, Tier::backup, Tier::silent, Tier::failed, Tier::web_only, Tier::down, Tier::out}) {
    const std::size_t count = tiers[static_cast<std::size_t>(tier)];
    if (count == 0) continue;
    text += (first ? " " : ", ") + std::to_string(count) + " " + std::string(name_of(tier));
    first = false;
  }
  if (view.web_only) text += "; NO HOST REPORTS: all probe ports refuse, chosen by weight among web ports that answer";
  return text + "; panic " + (view.panic ? "YES: most hosts are silent, chosen by weight" : "no") + "; " +
         percent(view.share) + " of all dispatches are ours; mean service time " +
         rounded(view.mean_service_seconds, Digits{3}) + "s";
}

std::string hex(std::uint64_t number) {
  std::string text(16, '0');
  std::array<char, 16> digits{};
  const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (fault != std::errc{}) return text;
  const auto length = static_cast<std::size_t>(end - digits.data());
  text.replace(text.size() - length, length, digits.data(), length);
  return text;
}

std::string host_json(const HostView& host) {
  const auto age = host.age ? std::optional<double>(host.age->count()) : std::nullopt;
  const Standing& standing = host.standing;
  return "{\"name\": " + json_string(host.name) + ", \"tier\": " + json_string(name_of(host.tier)) +
         ", \"health\": " + json_string(name_of(standing.health)) +
         ", \"duty\": " + json_string(name_of(standing.duty)) + ", \"weight\": " + json_number(host.weight) +
         ", \"cores\": " + json_number(host.cores) + ", \"running\": " + json_number(standing.running) +
         ", \"waiting\": " + json_number(standing.waiting) + ", \"load1\": " + json_number(standing.load1) +
         ", \"background\": " + json_number(standing.background) + ", \"predicted\": " + json_number(host.predicted) +
         ", \"mean_service_seconds\": " + json_number(standing.mean_service_seconds) +
         ", \"in_flight\": " + std::to_string(host.in_flight) + ", \"dispatches\": " + std::to_string(host.dispatches) +
         ", \"share\": " + json_number(host.share) + ", \"web\": " + json_string(name_of(standing.web)) +
         ", \"age_seconds\": " + json_number(age) + ", \"cause\": " + json_string(standing.cause) + "}";
}

}  // namespace

PoolView view_of(const Config& config, const Table& table, const PoolView* earlier, Instant now) {
  const PoolStanding pool = table.pool().value_or(PoolStanding{});
  PoolView view;
  view.config = config.file;
  view.now = now;
  view.watched = !is_unwatched(pool, config.probe, now);
  view.beat_age = age_at(pool.beat, now);
  view.watched_for = age_at(pool.started, now);
  view.panic = pool.panic;
  view.web_only = pool.web_only;
  view.share = pool.share;
  view.mean_service_seconds = pool.mean_service_seconds;
  view.balancer_id = table.balancer_id();
  if (earlier != nullptr) view.since = now - earlier->now;
  for (std::size_t i = 0; i < config.hosts.size(); ++i) view.hosts.push_back(host_view(config, i, table, pool, now));
  fill_shares(view, earlier);
  return view;
}

bool is_alive(const PoolView& view) { return view.watched && view.lease.holding != Holding::free; }

std::string poolwatch_text(const PoolView& view) {
  const bool held = view.lease.holding == Holding::held;
  const std::string who = view.lease.process ? "process " + std::to_string(*view.lease.process) : "another process";
  if (view.watched && held) return "alive (" + who + ", for " + age_text(view.watched_for) + ")";
  if (is_alive(view)) return "alive (last sign of life " + age_text(view.beat_age) + " ago)";
  const std::string silence =
      view.beat_age ? "last sign of life " + age_text(view.beat_age) + " ago" : "no sign of life yet";
  if (held && !view.beat_age) return "begins (" + who + " holds the lease, and has heard no host yet)";
  if (held) return "HANGS (" + silence + "), though " + who + " holds the lease";
  return "NOT RUNNING (" + silence + ")" + (view.watched ? "" : "; hosts are chosen by weight");
}

std::string to_text(const PoolView& view) {
  Columns columns;
  for (const auto title : {"HOST", "STATE", "DUTY"}) columns.heading(title, Align::left);
  for (const auto title : {"WEIGHT", "CORES", "RUNNING", "WAITING", "PREDICTED", "DISPATCHES", "SHARE"}) {
    columns.heading(title, Align::right);
  }
  columns.heading("WEB", Align::left);
  columns.heading("AGE", Align::right);
  columns.heading("CAUSE", Align::left);
  for (const HostView& host : view.hosts) {
    columns.row({host.name, health_text(host), std::string(name_of(host.standing.duty)), json_number(host.weight),
                 json_number(host.cores), rounded(host.standing.running, Digits{0}),
                 rounded(host.standing.waiting, Digits{0}), rounded(host.predicted, Digits{2}),
                 std::to_string(host.dispatches), percent(host.share), std::string(name_of(host.standing.web)),
                 age_text(host.age), host.standing.cause});
  }
  std::string text = "table      " + view.table + "\n";
  for (const std::string& other : view.other_tables) text += "           (there is another: " + other + ")\n";
  text += "poolwatch  " + poolwatch_text(view) + "\n";
  text += "pool       " + pool_text(view) + "\n";
  if (view.since) text += "           (shares of the last " + age_text(view.since) + ")\n";
  return text + "\n" + columns.to_text();
}

std::string to_json(const PoolView& view) {
  const auto seconds = [](const std::optional<Seconds>& age) {
    return json_number(age ? std::optional<double>(age->count()) : std::nullopt);
  };
  const bool held = view.lease.holding == Holding::held && view.lease.process.has_value();
  std::string text =
      "{\"table\": " + json_string(view.table) + ", \"configuration\": " + json_string(view.config) +
      ", \"balancer\": " + json_string(hex(view.balancer_id)) +
      ",\n \"poolwatch\": {\"alive\": " + (is_alive(view) ? "true" : "false") +
      ", \"process\": " + (held ? std::to_string(*view.lease.process) : "null") +
      ", \"beat_age_seconds\": " + seconds(view.beat_age) + ", \"running_for_seconds\": " + seconds(view.watched_for) +
      "},\n \"panic\": " + (view.panic ? "true" : "false") + ", \"web_only\": " + (view.web_only ? "true" : "false") +
      ", \"share_of_dispatches\": " + json_number(view.share) +
      ", \"mean_service_seconds\": " + json_number(view.mean_service_seconds) +
      ", \"shares_since_seconds\": " + seconds(view.since) + ",\n \"hosts\": [";
  for (std::size_t i = 0; i < view.hosts.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + host_json(view.hosts[i]);
  }
  return text + "]}\n";
}

}  // namespace balance
