// SPDX-License-Identifier: MIT
#include "balance/pool/decision.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "balance/ground/hand_off.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

// Why this request can be sent to nobody: the milder cause of the hosts that have a weight.
Target hindrance(const Request& request, const Config& config, const Plan& plan) {
  Target mildest = Target::loop;
  for (const HostConfig& host : config.hosts) {
    if (host.weight <= 0) continue;
    const Target target = target_of(request, host, config, plan);
    if (target == Target::fit) return Target::fit;
    if (target != Target::loop && mildest != Target::downgrade) mildest = target;
  }
  return mildest;
}

bool have_weight(const Config& config) {
  return std::ranges::any_of(config.hosts, [](const HostConfig& host) { return host.weight > 0; });
}

Reply nobody(const Request& request, const Config& config, const Plan& plan) {
  if (!have_weight(config)) return unavailable(request, config, "Every map host has weight 0 in the configuration.");
  const Target target = hindrance(request, config, plan);
  switch (target) {
    case Target::fit:
      return unavailable(request, config, "No map host can be reached at the moment.");
    case Target::inside_only:
    case Target::downgrade:
    case Target::failed:
      return unavailable(request, config, reason_of(target));
    case Target::loop:
      return loop_detected(request, config);
  }
  return internal_error(config, format_of(request));
}

Decision sent(const Request& request, const Config& config, const Plan& plan, Choice choice) {
  Decision decision;
  decision.plan = plan;
  decision.choice = std::move(choice);
  if (decision.choice.hosts.empty()) {
    decision.reply = nobody(request, config, plan);
    return decision;
  }
  decision.host = decision.choice.hosts.front();
  const HostConfig& host = config.hosts[*decision.host];
  decision.plan.action = action_at(request, host, config, plan);
  if (decision.plan.action == Action::accel) {
    decision.reply = hand_off(request, host, config);
  } else if (decision.plan.action != Action::relay) {
    decision.reply = redirect(request, host, config, decision.plan.action);
  }
  return decision;
}

std::vector<Fit> fit_hosts(const Request& request, const Config& config, const Plan& plan, Tier tier) {
  std::vector<Fit> fit;
  for (std::size_t i = 0; i < config.hosts.size(); ++i) {
    const HostConfig& host = config.hosts[i];
    if (host.backup != (tier == Tier::backup) || host.weight <= 0) continue;
    if (target_of(request, host, config, plan) != Target::fit) continue;
    fit.push_back(Fit{i, host.cores.value_or(1) * host.weight});
  }
  return fit;
}

}  // namespace

bool needs_host(const Plan& plan) {
  switch (plan.action) {
    case Action::redirect_302:
    case Action::redirect_307:
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
  return sent(request, config, plan,
              relays_all(config) ? relay_predict(snapshot, draw, tried) : predict(snapshot, tried));
}

bool is_relay(const Decision& decision) { return decision.host && decision.plan.action == Action::relay; }

bool binds_client(const Request& request, std::string_view content_type) {
  if (request.class_ == Class::artifact || request.class_ == Class::options) return false;
  // What a form in a body asks for is seen by its answer alone.
  return request.content == Class::page && base::lower(base::trim(content_type)).starts_with("text/html");
}

Decision decide_by_weight(const Request& request, const Config& config, const Plan& plan, Draw draw) {
  std::vector<Fit> fit = fit_hosts(request, config, plan, Tier::usable);
  if (fit.empty()) fit = fit_hosts(request, config, plan, Tier::backup);
  return sent(request, config, plan, choose_by_weight(std::move(fit), draw));
}

std::uint64_t client_key(const base::Address& address) {
  constexpr std::size_t kSiteBytes = 8;
  std::string key;
  const std::size_t bytes = address.is_ipv4() ? address.bytes.size() : kSiteBytes;
  for (std::size_t i = 0; i < bytes; ++i) key.push_back(static_cast<char>(address.bytes[i]));
  return base::fingerprint(key);
}

}  // namespace balance
