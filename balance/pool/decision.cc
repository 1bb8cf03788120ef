// SPDX-License-Identifier: MIT
#include "balance/pool/decision.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "loadprobe/base/text.h"

namespace balance {
namespace {

// Why this request can be sent to nobody: the milder cause of the hosts that have a weight.
Target hindrance(const Request& request, const Config& config) {
  Target mildest = Target::loop;
  for (const HostConfig& host : config.hosts) {
    if (host.weight <= 0) continue;
    const Target target = target_of(request, host, config);
    if (target == Target::fit) return Target::fit;
    if (target != Target::loop && mildest != Target::downgrade) mildest = target;
  }
  return mildest;
}

bool have_weight(const Config& config) {
  return std::ranges::any_of(config.hosts, [](const HostConfig& host) { return host.weight > 0; });
}

Reply nobody(const Request& request, const Config& config) {
  if (!have_weight(config)) return unavailable(request, config, "Every map host has weight 0 in the configuration.");
  const Target target = hindrance(request, config);
  switch (target) {
    case Target::fit:
      return unavailable(request, config, "No map host can be reached at the moment.");
    case Target::inside_only:
    case Target::downgrade:
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
    decision.reply = nobody(request, config);
    return decision;
  }
  decision.host = decision.choice.hosts.front();
  decision.reply = redirect(request, config.hosts[*decision.host], config, plan.action);
  return decision;
}

std::vector<Fit> fit_hosts(const Request& request, const Config& config, Tier tier) {
  std::vector<Fit> fit;
  for (std::size_t i = 0; i < config.hosts.size(); ++i) {
    const HostConfig& host = config.hosts[i];
    if (host.backup != (tier == Tier::backup) || host.weight <= 0) continue;
    if (target_of(request, host, config) != Target::fit) continue;
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
      return true;
    case Action::answer_options:
    case Action::refuse:
      return false;
  }
  return false;
}

Decision decide_without_host(const Request& request, const Config& config, const Plan& plan) {
  Decision decision;
  decision.plan = plan;
  decision.reply =
      plan.action == Action::answer_options
          ? options_reply(request, config)
          : unavailable(request, config,
                        "only a relay could answer this request, and nothing relays; see the setting " + plan.setting);
  return decision;
}

Decision decide(const Request& request, const Config& config, const Plan& plan, const Snapshot& snapshot) {
  return sent(request, config, plan, predict(snapshot));
}

Decision decide_by_weight(const Request& request, const Config& config, const Plan& plan, Draw draw) {
  std::vector<Fit> fit = fit_hosts(request, config, Tier::usable);
  if (fit.empty()) fit = fit_hosts(request, config, Tier::backup);
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
