// SPDX-License-Identifier: MIT
#include "balance/ctl/view.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "balance/ctl/columns.h"
#include "balance/pool/prediction.h"
#include "balance/pool/snapshot.h"
#include "balance/table/affinity.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

std::optional<Seconds> age_at(Instant instant, Instant now) {
  if (instant == base::kNever) return std::nullopt;
  return std::max(now - instant, Seconds{0});
}

// Who says the strictest word, and why. By hand comes first: it is the one that can be taken back here.
void fill_duty(HostView& view, const HostConfig& host, const HandView& by_hand, Instant now) {
  const Standing& standing = view.standing;
  view.duty = duty_of(host, standing, now);
  if (view.duty == Duty::serving) return;
  const auto entry = std::ranges::find(by_hand.entries, host.name, &HandEntry::host);
  if (duty_at(standing.by_hand, now) == view.duty) {
    view.duty_by = SetBy::hand;
    if (entry != by_hand.entries.end()) view.reason = entry->reason;
    if (standing.by_hand.until) view.left = *standing.by_hand.until - now;
  } else if (standing.duty == view.duty) {
    view.duty_by = SetBy::host;
    // With the duty come its words, unless the host is down: then the cause says why.
    if (standing.health != Health::down) view.reason = standing.cause;
  } else {
    view.duty_by = SetBy::weight;
  }
}

// 'drained by hand, 1h left: kernel update'.
std::string cause_text(const HostView& host) {
  if (host.duty_by != SetBy::hand && host.duty_by != SetBy::weight) return host.standing.cause;
  std::string text = host.duty_by == SetBy::weight ? "weight 0" : "by hand";
  if (host.left) text += ", " + age_text(host.left) + " left";
  if (!host.reason.empty()) text += ": " + host.reason;
  if (!host.standing.cause.empty()) text += "; " + host.standing.cause;
  return text;
}

std::string weight_text(const HostView& host) {
  if (!host.weight_by_hand) return json_number(host.weight);
  return json_number(host.weight) + " (" + json_number(host.configured_weight) + ")";
}

std::string left_text(std::int64_t until, Seconds wall) {
  return age_text(Seconds{static_cast<double>(until)} - wall) + " left";
}

HostView host_view(const Config& config, std::size_t index, const Table& table, const PoolStanding& pool,
                   const HandView& by_hand, Instant now) {
  const HostConfig& host = config.hosts[index];
  HostView view;
  view.name = host.name;
  view.standing = table.standing(index).value_or(Standing{});
  const Live live = table.live(index, now);
  view.standing.by_hand = live.by_hand;
  view.weight = weight_of(host, live.by_hand);
  view.configured_weight = host.weight;
  view.weight_by_hand = live.by_hand.weight.has_value();
  view.cores = cores_of(host, view.standing, pool);
  const Candidate looked = candidate(index, host, view.standing, live, pool, config.probe, now);
  view.tier = looked.tier;
  if (view.tier == Tier::failed) view.standing.cause = cause_of(live.outcomes);
  view.in_flight = live.in_flight;
  view.predicted = drained(looked.prediction, drain_of(looked), now).requests;
  view.dispatches = table.dispatches(index);
  view.age = age_at(view.standing.reported, now);
  fill_duty(view, host, by_hand, now);
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
  for (const Tier tier : {Tier::usable, Tier::backup, Tier::silent, Tier::failed, Tier::web_only, Tier::draining,
                          Tier::down, Tier::out}) {
    const std::size_t count = tiers[static_cast<std::size_t>(tier)];
    if (count == 0) continue;
    text += (first ? " " : ", ") + std::to_string(count) + " " + std::string(name_of(tier));
    first = false;
  }
  const std::size_t serve_nobody = tiers[static_cast<std::size_t>(Tier::draining)] +
                                   tiers[static_cast<std::size_t>(Tier::down)] +
                                   tiers[static_cast<std::size_t>(Tier::out)];
  if (serve_nobody == view.hosts.size()) text += "; NO HOST SERVES: new clients get 503";
  if (view.web_only) text += "; NO HOST REPORTS: all probe ports refuse, chosen by weight among web ports that answer";
  return text + "; panic " + (view.panic ? "YES: most hosts are silent, chosen by weight" : "no") + "; " +
         percent(view.share) + " of all dispatches are ours; mean service time " +
         rounded(view.mean_service_seconds, Digits{3}) + "s";
}

std::string sticky_text(const PoolView& view) {
  if (view.sticky == Sticky::none) return "";
  std::string text = "sticky     " + std::string(name_of(view.sticky)) + ", for " + base::to_text(view.sticky_timeout) +
                     " after the last request";
  std::size_t all = 0;
  std::string by_host;
  for (const HostView& host : view.hosts) {
    if (!host.clients || *host.clients == 0) continue;
    all += *host.clients;
    by_host += (by_host.empty() ? ": " : ", ") + host.name + " " + std::to_string(*host.clients);
  }
  if (is_by_address(view.sticky)) text += "; " + std::to_string(all) + (all == 1 ? " client" : " clients") + by_host;
  return text + "\n";
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
  const auto left = host.left ? std::optional<double>(host.left->count()) : std::nullopt;
  const Standing& standing = host.standing;
  return "{\"name\": " + json_string(host.name) + ", \"tier\": " + json_string(name_of(host.tier)) +
         ", \"health\": " + json_string(name_of(standing.health)) + ", \"duty\": " + json_string(name_of(host.duty)) +
         ", \"duty_set_by\": " + (host.duty_by == SetBy::nobody ? "null" : json_string(name_of(host.duty_by))) +
         ", \"reason\": " + json_string(host.reason) + ", \"left_seconds\": " + json_number(left) +
         ", \"weight\": " + json_number(host.weight) +
         ", \"configured_weight\": " + json_number(host.configured_weight) +
         ", \"weight_set_by_hand\": " + (host.weight_by_hand ? "true" : "false") +
         ", \"cores\": " + json_number(host.cores) + ", \"running\": " + json_number(standing.running) +
         ", \"waiting\": " + json_number(standing.waiting) + ", \"load1\": " + json_number(standing.load1) +
         ", \"background\": " + json_number(standing.background) + ", \"predicted\": " + json_number(host.predicted) +
         ", \"mean_service_seconds\": " + json_number(standing.mean_service_seconds) +
         ", \"in_flight\": " + std::to_string(host.in_flight) + ", \"dispatches\": " + std::to_string(host.dispatches) +
         ", \"share\": " + json_number(host.share) +
         ", \"clients\": " + (host.clients ? std::to_string(*host.clients) : "null") +
         ", \"web\": " + json_string(name_of(standing.web)) + ", \"age_seconds\": " + json_number(age) +
         ", \"cause\": " + json_string(standing.cause) + "}";
}

}  // namespace

std::string_view name_of(SetBy set_by) {
  switch (set_by) {
    case SetBy::nobody:
      return "";
    case SetBy::host:
      return "host";
    case SetBy::hand:
      return "hand";
    case SetBy::weight:
      return "weight";
  }
  return "";
}

HandView hand_view(const HandFiles& files, const Config& config, Seconds wall) {
  HandView view;
  base::Result<Kept> kept = read_kept(files);
  if (!kept) {
    view.troubles.push_back(kept.error().what);
    return view;
  }
  view.path = kept->path;
  view.troubles = kept->text.faults;
  const std::vector<std::string> names = strangers(kept->text, config);
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    view.troubles.push_back(kept->path + ": " + names[i] + " is no host of " + config.file);
  }
  if (names.size() > kMostNamed) {
    view.troubles.push_back(kept->path + ": " + std::to_string(names.size() - kMostNamed) + " more are no hosts of it");
  }
  for (HandEntry& entry : kept->text.entries) {
    if (entry.until && static_cast<double>(*entry.until) <= wall.count()) forget_duty(entry);
    if (says_anything(entry)) view.entries.push_back(std::move(entry));
  }
  if (!view.entries.empty() && is_volatile(view.path)) {
    view.troubles.push_back(view.path + " does not outlive a reboot; set keep-dir to a folder that does");
  }
  return view;
}

std::string to_text(const HandView& view, const Config& config, Seconds wall) {
  std::string text;
  const auto add = [&text](const std::string& line) {
    text += (text.empty() ? "by hand    " : "           ") + line + "\n";
  };
  for (const HandEntry& entry : view.entries) {
    std::string line = entry.host;
    const auto host = std::ranges::find(config.hosts, entry.host, &HostConfig::name);
    if (entry.weight) {
      line += " weight " + json_number(*entry.weight);
      if (host != config.hosts.end()) line += " (configured: " + json_number(host->weight) + ")";
    }
    if (entry.duty != Duty::serving || !entry.reason.empty()) {
      line += (entry.weight ? ", " : " ") + std::string(name_of(entry.duty));
    }
    if (entry.since) line += " since " + utc_text(*entry.since);
    if (entry.until) line += ", " + left_text(*entry.until, wall);
    add(line + (entry.reason.empty() ? "" : ": " + entry.reason));
  }
  if (!view.entries.empty()) add("(kept in " + view.path + ")");
  for (const std::string& trouble : view.troubles) add("WARNING: " + trouble);
  return text;
}

std::string to_json(const HandView& view) {
  std::string text = "{\"file\": " + (view.path.empty() ? "null" : json_string(view.path)) + ", \"entries\": [";
  const auto time = [](const std::optional<std::int64_t>& seconds) {
    return seconds ? json_string(utc_text(*seconds)) : std::string("null");
  };
  for (std::size_t i = 0; i < view.entries.size(); ++i) {
    const HandEntry& entry = view.entries[i];
    text += std::string(i == 0 ? "" : ", ") + "{\"host\": " + json_string(entry.host) +
            ", \"weight\": " + json_number(entry.weight) + ", \"duty\": " + json_string(name_of(entry.duty)) +
            ", \"since\": " + time(entry.since) + ", \"until\": " + time(entry.until) +
            ", \"reason\": " + json_string(entry.reason) + "}";
  }
  return text + "], \"troubles\": " + to_json(view.troubles) + "}";
}

PoolView view_of(const Config& config, const Table& table, const HandView& by_hand, const PoolView* earlier,
                 Instant now, const Table* clients) {
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
  view.by_hand = by_hand;
  if (earlier != nullptr) view.since = now - earlier->now;
  for (std::size_t i = 0; i < config.hosts.size(); ++i) {
    view.hosts.push_back(host_view(config, i, table, pool, by_hand, now));
  }
  fill_shares(view, earlier);
  view.sticky = config.sticky.kind;
  view.sticky_timeout = config.sticky.timeout;
  const std::vector<std::size_t> stay = sticky_clients(config, table, clients, now);
  for (std::size_t i = 0; i < stay.size(); ++i) view.hosts[i].clients = stay[i];
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

std::string faults_text(const std::vector<std::string>& faults) {
  if (faults.empty()) return "";
  return "config     HAS " + std::to_string(faults.size()) + (faults.size() == 1 ? " FAULT" : " FAULTS") +
         ", which 'balancectl check' names; what follows is of the one that is in use\n";
}

std::string to_json(const std::vector<std::string>& texts) {
  std::string text = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) text += (i == 0 ? "" : ", ") + json_string(texts[i]);
  return text + "]";
}

std::string to_text(const PoolView& view) {
  Columns columns;
  for (const auto title : {"HOST", "STATE", "DUTY", "SET BY"}) columns.heading(title, Align::left);
  for (const auto title : {"WEIGHT", "CORES", "RUNNING", "WAITING", "PREDICTED", "DISPATCHES", "SHARE"}) {
    columns.heading(title, Align::right);
  }
  columns.heading("WEB", Align::left);
  columns.heading("AGE", Align::right);
  columns.heading("CAUSE", Align::left);
  for (const HostView& host : view.hosts) {
    const std::string set_by = host.duty_by == SetBy::nobody ? "-" : std::string(name_of(host.duty_by));
    columns.row({host.name, health_text(host), std::string(name_of(host.duty)), set_by, weight_text(host),
                 json_number(host.cores), rounded(host.standing.running, Digits{0}),
                 rounded(host.standing.waiting, Digits{0}), rounded(host.predicted, Digits{2}),
                 std::to_string(host.dispatches), percent(host.share), std::string(name_of(host.standing.web)),
                 age_text(host.age), cause_text(host)});
  }
  std::string text = faults_text(view.faults) + "table      " + view.table + "\n";
  for (const std::string& other : view.other_tables) text += "           (there is another: " + other + ")\n";
  text += "poolwatch  " + poolwatch_text(view) + "\n";
  text += "pool       " + pool_text(view) + "\n";
  if (view.since) text += "           (shares of the last " + age_text(view.since) + ")\n";
  text += sticky_text(view);
  return text + "\n" + columns.to_text();
}

std::string to_json(const PoolView& view) {
  const auto seconds = [](const std::optional<Seconds>& age) {
    return json_number(age ? std::optional<double>(age->count()) : std::nullopt);
  };
  const bool held = view.lease.holding == Holding::held && view.lease.process.has_value();
  std::string text =
      "{\"table\": " + json_string(view.table) + ", \"configuration\": " + json_string(view.config) +
      ", \"faults\": " + to_json(view.faults) + ", \"balancer\": " + json_string(hex(view.balancer_id)) +
      ",\n \"poolwatch\": {\"alive\": " + (is_alive(view) ? "true" : "false") +
      ", \"process\": " + (held ? std::to_string(*view.lease.process) : "null") +
      ", \"beat_age_seconds\": " + seconds(view.beat_age) + ", \"running_for_seconds\": " + seconds(view.watched_for) +
      "},\n \"panic\": " + (view.panic ? "true" : "false") + ", \"web_only\": " + (view.web_only ? "true" : "false") +
      ", \"share_of_dispatches\": " + json_number(view.share) +
      ", \"mean_service_seconds\": " + json_number(view.mean_service_seconds) +
      ", \"sticky\": " + json_string(name_of(view.sticky)) +
      ", \"sticky_timeout_seconds\": " + json_number(view.sticky_timeout.count()) +
      ", \"shares_since_seconds\": " + seconds(view.since) + ",\n \"by_hand\": " + to_json(view.by_hand) +
      ",\n \"hosts\": [";
  for (std::size_t i = 0; i < view.hosts.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + host_json(view.hosts[i]);
  }
  return text + "]}\n";
}

}  // namespace balance
