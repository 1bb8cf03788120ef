// SPDX-License-Identifier: MIT
// Standings: names for people, and the place of a host in the order of choice. Floor 2.
#include "balance/pool/standing.h"

#include <algorithm>

namespace balance {
namespace {

bool is_live(const HostConfig& host, const Standing& standing, const PoolStanding& pool, const ProbeConfig& probe,
             Instant now) {
  if (host.probe == ProbeKind::none) return true;
  const Instant heard = standing.reported == base::kNever ? pool.started : standing.reported;
  if (now - heard < probe.expire_of(host.probe)) return true;
  return pool.panic && standing.web == WebPort::answers;
}

}  // namespace

std::string_view name_of(Health health) {
  switch (health) {
    case Health::unknown:
      return "unknown";
    case Health::up:
      return "up";
    case Health::down:
      return "down";
    case Health::wrong:
      return "wrong";
  }
  return "?";
}

std::string_view name_of(WebPort port) {
  switch (port) {
    case WebPort::unchecked:
      return "unchecked";
    case WebPort::answers:
      return "answers";
    case WebPort::refused:
      return "refused";
    case WebPort::silent:
      return "silent";
  }
  return "?";
}

std::string_view name_of(Tier tier) {
  switch (tier) {
    case Tier::usable:
      return "usable";
    case Tier::backup:
      return "backup";
    case Tier::silent:
      return "silent";
    case Tier::failed:
      return "failed";
    case Tier::web_only:
      return "web only";
    case Tier::draining:
      return "draining";
    case Tier::down:
      return "down";
    case Tier::out:
      return "out";
  }
  return "?";
}

Duty duty_of(const HostConfig& host, const Standing& standing, Instant now) {
  const Duty said = std::max(standing.duty, duty_at(standing.by_hand, now));
  return weight_of(host, standing.by_hand) > 0 ? said : std::max(said, Duty::draining);
}

bool is_unwatched(const PoolStanding& pool, const ProbeConfig& probe, Instant now) {
  return now - pool.beat >= probe.expire_of(ProbeKind::loadprobe);
}

Tier tier_of(const HostConfig& host, const Standing& standing, const PoolStanding& pool, const ProbeConfig& probe,
             Instant now) {
  const Duty duty = duty_of(host, standing, now);
  if (duty == Duty::off) return Tier::out;
  const bool is_down = standing.health == Health::down || standing.health == Health::wrong;
  const bool usable = is_unwatched(pool, probe, now) || is_live(host, standing, pool, probe, now);
  if (duty == Duty::draining) return usable && !is_down ? Tier::draining : Tier::out;
  if (standing.health == Health::down && standing.probe_refused && standing.web == WebPort::answers) {
    return Tier::web_only;
  }
  if (is_down) return Tier::down;
  if (!usable) return Tier::silent;
  return host.backup ? Tier::backup : Tier::usable;
}

}  // namespace balance
