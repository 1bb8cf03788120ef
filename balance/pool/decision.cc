// SPDX-License-Identifier: MIT
#include "balance/pool/decision.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "balance/ground/hand_off.h"
#include "balance/pool/rendezvous.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

// Why this request can be sent to nobody: the mildest cause.
Target hindrance(const Request& request, const Config& config, const Plan& plan) {
  Target mildest = Target::loop;
  for (const HostConfig& host : config.hosts) {
    const Target target = target_of(request, host, config, plan);
    if (target == Target::fit) return Target::fit;
    if (target != Target::loop && mildest != Target::downgrade) mildest = target;
  }
  return mildest;
}

std::string_view why_nobody(const Config& config, bool none_serves) {
  if (!none_serves) return "No map host can be reached at the moment.";
  const bool none_has_weight =
      std::ranges::all_of(config.hosts, [](const HostConfig& host) { return host.weight <= 0; });
  return none_has_weight ? "Every map host has weight 0 in the configuration."
                         : "Every map host is being drained or switched off.";
}

Reply nobody(const Request& request, const Config& config, const Plan& plan, bool none_serves) {
  const Target target = hindrance(request, config, plan);
  switch (target) {
    case Target::fit:
      return unavailable(request, config, why_nobody(config, none_serves));
    case Target::inside_only:
    case Target::downgrade:
    case Target::failed:
      return unavailable(request, config, reason_of(target));
    case Target::loop:
      return loop_detected(request, config);
  }
  return internal_error(config, format_of(request));
}

struct Sending {
  Choice choice;
  bool none_serves = false;
  std::optional<std::size_t> sticky;  // the host that the client stays with
  bool takes_clients = true;          // a draining host does not, or it would never be rid of those that it has
};

// What a client got because its page lies there says nothing of where it stays, nor does who happens to have a picture.
bool binds(const Request& request, const Config& config, const Decision& decision, const Sending& sending) {
  if (config.sticky.kind == Sticky::none || !sending.takes_clients) return false;
  if (sending.sticky == decision.host) return true;
  return request.class_ != Class::artifact && !(decision.choice.reason == Reason::client && sending.sticky);
}

Decision sent(const Request& request, const Config& config, const Plan& plan, Sending sending) {
  Decision decision;
  decision.plan = plan;
  decision.choice = std::move(sending.choice);
  if (decision.choice.hosts.empty()) {
    decision.reply = nobody(request, config, plan, sending.none_serves);
    return decision;
  }
  decision.host = decision.choice.hosts.front();
  const HostConfig& host = config.hosts[*decision.host];
  decision.plan.action = action_at(request, host, config, plan);
  decision.binds = binds(request, config, decision, sending);
  if (decision.plan.action == Action::relay) return decision;
  if (decision.plan.action == Action::redirect_locally) {
    decision.reply = local_redirect(request, config);
    return decision;
  }
  decision.reply = decision.plan.action == Action::accel ? hand_off(request, host, config)
                                                         : redirect(request, host, config, decision.plan.action);
  if (decision.binds) keep_by_cookie(decision.reply, request, config, *decision.host);
  return decision;
}

struct FitHosts {
  std::vector<Fit> others, backups;
  bool none_serves = true;
};

FitHosts fit_hosts(const Request& request, const Config& config, const Plan& plan, const std::vector<ByHand>& by_hand,
                   Instant now) {
  FitHosts fit;
  for (std::size_t i = 0; i < config.hosts.size(); ++i) {
    const HostConfig& host = config.hosts[i];
    if (target_of(request, host, config, plan) != Target::fit) continue;
    const ByHand said = i < by_hand.size() ? by_hand[i] : ByHand{};
    const double weight = weight_of(host, said);
    if (weight <= 0 || duty_at(said, now) != Duty::serving) continue;
    fit.none_serves = false;
    (host.backup ? fit.backups : fit.others).push_back(Fit{i, host.cores.value_or(1) * weight});
  }
  return fit;
}

}  // namespace

bool needs_host(const Plan& plan) {
  switch (plan.action) {
    case Action::redirect_302:
    case Action::redirect_307:
    case Action::redirect_locally:
    case Action::relay:
    case Action::accel:
      return true;
    case Action::answer_options:
    case Action::answer_loop:
    case Action::refuse:
      return false;
  }
  return false;
}

Decision decide_without_host(const Request& request, const Config& config, const Plan& plan) {
  Decision decision;
  decision.plan = plan;
  if (plan.action == Action::answer_options) {
    decision.reply = options_reply(request, config);
  } else if (plan.action == Action::answer_loop) {
    decision.reply = loop_detected(request, config);
  } else {
    decision.reply = unavailable(
        request, config, "only a relay could answer this request, and nothing relays; see the setting " + plan.setting);
  }
  return decision;
}

Decision decide(const Request& request, const Config& config, const Plan& plan, const Snapshot& snapshot, Draw draw) {
  const std::size_t tried = request.class_ == Class::artifact ? kLookedAt : kTried;
  Sending sending;
  sending.choice = relays_all(config) ? relay_predict(snapshot, draw, tried) : predict(snapshot, tried);
  sending.none_serves = snapshot.none_serves;
  sending.sticky = snapshot.sticky;
  if (!sending.choice.hosts.empty()) {
    sending.takes_clients = candidate_of(snapshot, sending.choice.hosts.front()).duty == Duty::serving;
  }
  return sent(request, config, plan, std::move(sending));
}

bool is_relay(const Decision& decision) { return decision.host && decision.plan.action == Action::relay; }

bool binds_client(const Request& request, std::string_view content_type) {
  if (request.class_ == Class::artifact || request.class_ == Class::options) return false;
  // What a form in a body asks for is seen by its answer alone.
  return request.content == Class::page && base::lower(base::trim(content_type)).starts_with("text/html");
}

bool may_see_draining(const Request& request, const Config& config, bool belongs) {
  return request.class_ == Class::artifact || (belongs && config.drain_sticky == DrainSticky::keep);
}

void call_in_backups(std::vector<Candidate>& candidates, const Config& config) {
  const auto others = std::ranges::count(candidates, Tier::usable, &Candidate::tier);
  if (others == 0 || static_cast<std::size_t>(others) >= config.backup_below) return;
  for (Candidate& candidate : candidates) {
    if (candidate.tier == Tier::backup) candidate.tier = Tier::usable;
  }
}

Decision decide_by_weight(const Request& request, const Config& config, const Plan& plan, Draw draw,
                          const std::vector<ByHand>& by_hand, Instant now) {
  FitHosts fit = fit_hosts(request, config, plan, by_hand, now);
  if (fit.others.size() < config.backup_below) {
    fit.others.insert(fit.others.end(), fit.backups.begin(), fit.backups.end());
  }
  Choice choice = choose_by_weight(fit.others, draw);
  const auto put_first = [&choice](std::size_t host, Reason reason) {
    if (choice.hosts.empty()) return;
    const auto found = std::ranges::find(choice.hosts, host);
    if (found == choice.hosts.end()) choice.hosts.back() = host;
    std::iter_swap(choice.hosts.begin(), std::ranges::find(choice.hosts, host));
    choice.reason = reason;
  };
  const bool has_own =
      request.cookie_host && std::ranges::find(fit.others, *request.cookie_host, &Fit::host) != fit.others.end();
  if (has_own) put_first(*request.cookie_host, Reason::sticky);
  if (is_by_address(config.sticky.kind) && request.client && !fit.others.empty()) {
    std::vector<Contender> contenders;
    for (const Fit& one : fit.others)
      contenders.push_back({one.host, identity_of(config.hosts[one.host]), one.capacity, 1, 0});
    put_first(first_within_bound(sticky_key(*request.client), contenders), Reason::hashed);
  }
  return sent(request, config, plan, {std::move(choice), fit.none_serves, request.cookie_host});
}

std::optional<std::uint64_t> hashed_client(const Request& request, const Config& config) {
  if (!is_by_address(config.sticky.kind) || config.peers < 2 || !request.client) return std::nullopt;
  return sticky_key(*request.client);
}

namespace {

// The lowest bit of an entry's tag says which kind of entry it is.
constexpr std::uint64_t kStickyBit = std::uint64_t{1} << 32;

std::uint64_t fingerprint_of(const base::Address& address) {
  constexpr std::size_t kSiteBytes = 8;
  std::string key;
  const std::size_t bytes = address.is_ipv4() ? address.bytes.size() : kSiteBytes;
  for (std::size_t i = 0; i < bytes; ++i) key.push_back(static_cast<char>(address.bytes[i]));
  return base::fingerprint(key);
}

}  // namespace

std::uint64_t client_key(const base::Address& address) { return fingerprint_of(address) & ~kStickyBit; }
std::uint64_t sticky_key(const base::Address& address) { return fingerprint_of(address) | kStickyBit; }
bool is_sticky_tag(std::uint32_t tag) { return (tag & 1) != 0; }

}  // namespace balance
