// SPDX-License-Identifier: MIT
#include "balance/ctl/explain.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "balance/ctl/columns.h"
#include "balance/ground/reply.h"
#include "balance/ground/request.h"
#include "balance/pool/decision.h"
#include "balance/pool/policy.h"
#include "balance/table/affinity.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::size_t kShownBytes = 2000;  // of what the client sends

// 'https://maps.example.org/cgi-bin/mapserv/ogcapi?f=json' -> its parts.
base::Result<Inquiry> with_url_taken_apart(Inquiry inquiry, const std::string& script) {
  const std::size_t question_mark = inquiry.query.find('?');
  const std::string base_text = inquiry.query.substr(0, question_mark);
  if (base_text.find("://") == std::string::npos) {
    if (question_mark == 0) inquiry.query.erase(0, 1);
    return inquiry;
  }
  const base::Result<Url> url = parse_url(base_text);
  if (!url) return base::Error{base::Fault::usage, "explain: " + url.error().what};
  inquiry.query = question_mark == std::string::npos ? "" : inquiry.query.substr(question_mark + 1);
  inquiry.https = inquiry.https || url->scheme == Scheme::https;
  if (inquiry.host.empty()) inquiry.host = authority(*url);
  if (inquiry.path_info.empty() && url->path.substr(0, script.size()) == script) {
    inquiry.path_info = url->path.substr(script.size());
  }
  return inquiry;
}

// A request's variables, and the texts that they look at.
struct Variables {
  std::string request_uri, server_name, server_port;
  RawRequest raw;
};

void fill(Variables& out, const Inquiry& inquiry, const Config& config, const std::string& script) {
  const std::string own = config.public_url ? authority(*config.public_url) : "localhost";
  const std::string& named = inquiry.host.empty() ? own : inquiry.host;
  const std::size_t colon = named.rfind(':');
  const bool has_port = colon != std::string::npos && named.find(']', colon) == std::string::npos;
  out.server_name = has_port ? named.substr(0, colon) : named;
  out.server_port = has_port ? named.substr(colon + 1) : inquiry.https ? "443" : "80";
  out.request_uri = script + inquiry.path_info + (inquiry.query.empty() ? "" : "?" + inquiry.query);
  out.raw.method = inquiry.method;
  out.raw.query_string = inquiry.query;
  out.raw.request_uri = out.request_uri;
  out.raw.script_name = script;
  out.raw.path_info = inquiry.path_info;
  out.raw.https = inquiry.https ? "on" : "";
  out.raw.server_name = out.server_name;
  out.raw.server_port = out.server_port;
  out.raw.remote_addr = inquiry.client;
  out.raw.cookie = inquiry.cookie;
  out.raw.balance_accel = "@balance_host";
  out.raw.origin = inquiry.origin;
  if (!inquiry.host.empty()) out.raw.host = inquiry.host;
  if (inquiry.with_credentials) out.raw.authorization = "Basic";
}

std::string action_text(const Plan& plan) {
  switch (plan.action) {
    case Action::answer_options:
      return "answered by the balancer itself";
    case Action::answer_loop:
      return "refused: it came through this balancer before";
    case Action::redirect_302:
      return "redirect with 302";
    case Action::redirect_307:
      return "redirect with 307: method and body stay";
    case Action::redirect_locally:
      return "local redirect";
    case Action::relay:
      return "relay";
    case Action::accel:
      return "handed to nginx (X-Accel-Redirect), relayed where the web server does not offer that";
    case Action::refuse:
      return "refused: only a relay could answer; see the setting " + plan.setting;
  }
  return "?";
}

std::string reason_text(Reason reason) {
  switch (reason) {
    case Reason::least_cost:
      return "it has the least cost";
    case Reason::turn:
      return "several hosts have the least cost; it is this one's turn";
    case Reason::by_weight:
      return "drawn by weight; another time it may be another";
    case Reason::client:
      return "this client's page came from it";
    case Reason::sticky:
      return "this client stays with it";
    case Reason::hashed:
      return "the first in this client's own order of hosts that has not far more to do than the others";
    case Reason::backup:
      return "no serving host is usable; it is a backup";
    case Reason::silent:
      return "no host is known to be usable; this one has only fallen silent";
    case Reason::failed:
      return "relayed requests failed on every host just now; this one is tried all the same";
    case Reason::web_only:
      return "its probe port refuses, but its web port answers, and all other hosts are down";
    case Reason::draining:
      return "only draining hosts are left, and one of them may have this file";
    case Reason::nobody:
      return "there is no host to send to";
  }
  return "?";
}

std::string believed(const Snapshot& snapshot, const PoolStanding& pool) {
  if (pool.panic) return "by weight: most hosts are silent (panic), so reports are not believed";
  if (pool.web_only) return "by weight: no host reports, and web ports are all that is known to answer";
  if (snapshot.by_weight) return "by weight: poolwatch shows no sign of life";
  return "by predicted load";
}

// `candidate`: as it was chosen among; null: it was not.
std::string target_text(const Request& request, const HostConfig& host, const Config& config, const Plan& plan,
                        const Candidate* candidate) {
  const Target target = target_of(request, host, config, plan);
  const bool may_get_it = candidate != nullptr && (candidate->tier == Tier::draining ||
                                                   (candidate->tier < Tier::down && candidate->weight > 0));
  if (target == Target::fit && !may_get_it) return "no";  // by its state, which stands beside it
  const bool is_relayed = target == Target::fit && action_at(request, host, config, plan) == Action::relay;
  return is_relayed ? "relay" : std::string(name_of(target));
}

// Every host, or the drawn ones of a large pool: as it stands and, where it is a candidate, what it costs.
std::string host_lines(const Request& request, const Config& config, const Plan& plan, const Table& table,
                       const Snapshot& snapshot, const Choice& choice) {
  Columns columns;
  for (const auto title : {"HOST", "STATE", "TARGET"}) columns.heading(title, Align::left);
  for (const auto title : {"PREDICTED", "BACKGROUND", "CORES", "WEIGHT", "RAMP", "SLOW", "COST"}) {
    columns.heading(title, Align::right);
  }
  const PoolStanding pool = table.pool().value_or(PoolStanding{});
  for (std::size_t i = 0; i < config.hosts.size(); ++i) {
    const HostConfig& host = config.hosts[i];
    const auto found = std::ranges::find(snapshot.candidates, i, &Candidate::host);
    if (found == snapshot.candidates.end() && config.hosts.size() > kScanned) continue;
    const Standing standing = table.standing(i).value_or(Standing{});
    const Candidate looked =
        candidate(i, host, standing, table.live(i, snapshot.now), pool, config.probe, snapshot.now);
    const Candidate* const chosen_among = found != snapshot.candidates.end() ? &*found : nullptr;
    std::vector<std::string> row{host.name, std::string(name_of(looked.tier)),
                                 target_text(request, host, config, plan, chosen_among)};
    const auto place = static_cast<std::size_t>(found - snapshot.candidates.begin());
    const bool has_cost = place < choice.costs.size() && choice.costs[place].host == i;
    const Cost cost = has_cost ? choice.costs[place] : Cost{};
    const auto known = [&](double number) { return has_cost ? std::optional<double>(number) : std::nullopt; };
    const double drained_to_now = drained(looked.prediction, drain_of(looked), snapshot.now).requests;
    row.push_back(rounded(has_cost ? cost.predicted : drained_to_now, Digits{2}));
    row.push_back(rounded(looked.background, Digits{2}));
    row.push_back(json_number(looked.cores));
    row.push_back(json_number(looked.weight));
    row.push_back(rounded(known(cost.ramp), Digits{2}));
    row.push_back(rounded(known(cost.slow), Digits{2}));
    row.push_back(rounded(known(cost.cost), Digits{3}));
    columns.row(std::move(row));
  }
  return columns.to_text();
}

std::string choice_lines(const Decision& decision, const Config& config) {
  const Choice& choice = decision.choice;
  if (!decision.host) return "choice     nobody: " + reason_text(choice.reason) + "\n";
  std::string text = "choice     " + config.hosts[*decision.host].name + ": " + reason_text(choice.reason) + "\n";
  for (std::size_t i = 1; i < choice.hosts.size(); ++i) {
    text += (i == 1 ? "then       " : ", ") + config.hosts[choice.hosts[i]].name;
  }
  return choice.hosts.size() > 1 ? text + "\n" : text;
}

// Why no redirect leads to the host, or to any, with the setting to see.
std::string hindrance_lines(const Request& request, const Decision& decision, const Config& config) {
  std::vector<Target> met;
  for (std::size_t i = 0; i < config.hosts.size(); ++i) {
    if (decision.host && *decision.host != i) continue;
    const Target target = target_of(request, config.hosts[i], config);
    if (target != Target::fit && std::ranges::find(met, target) == met.end()) met.push_back(target);
  }
  std::string text;
  for (const Target target : met) {
    switch (target) {
      case Target::fit:
        break;
      case Target::inside_only:
        text += "no redirect: it has no public URL (inside-only)\n";
        break;
      case Target::downgrade:
        text += "no redirect: the client is on https and the URL is http; see the setting allow-downgrade\n";
        break;
      case Target::loop:
        text += "no redirect: it is this balancer itself\n";
        break;
      case Target::failed:
        text += "no redirect: it has just failed this request\n";
        break;
    }
  }
  return text;
}

// Only where redirects were wanted is it of interest why there is none.
std::string why_not_redirected(const Request& request, const Plan& plan, const Decision& decision,
                               const Config& config) {
  if (plan.action == Action::relay || plan.action == Action::accel ||
      (decision.host && decision.plan.action != Action::relay))
    return "";
  return hindrance_lines(request, decision, config);
}

std::string local_lines(const Request& request, const Decision& decision, const Config& config) {
  if (!config.local || decision.host != config.local->host || is_relay(decision)) return "";
  Request here = request;
  here.may_stay_here = request.method == Method::get || request.method == Method::head;
  if (!stays_here(here, config.hosts[*decision.host], config)) return "";
  return "local      as a CGI program of Apache or lighttpd: no redirect, the web server itself answers with " +
         base::escaped(local_redirect(here, config).headers.front().second, kShownBytes * 4) + "\n";
}

std::string sticky_lines(const Inquiry& inquiry, const Config& config, const std::optional<Bond>& bond) {
  if (config.sticky.kind == Sticky::none) return "";
  if (bond && bond->left) {
    return "sticky     " + config.hosts[bond->host].name + ", " + age_text(bond->left) + " left\n";
  }
  if (bond) return "sticky     " + config.hosts[bond->host].name + ", by its cookie\n";
  if (config.sticky.kind != Sticky::cookie) return "sticky     nothing is known of this client\n";
  const bool has_ours = inquiry.cookie.find(kOwnCookie) != std::string::npos;
  return "sticky     " + std::string(has_ours ? "its cookie names no host of ours" : "it has no cookie of ours") + "\n";
}

int status_of(const Decision& decision) { return is_relay(decision) ? 200 : decision.reply.status; }

// Of a relay the host itself says the rest.
std::string relay_lines(const Request& request, const HostConfig& host) {
  std::string url = origin_of(host.inside) + path_on(request, host);
  if (!request.query.empty()) url.append(1, '?').append(request.query);
  return "relayed to " + base::escaped(url, kShownBytes * 4) + "\n";
}

// Who gets nothing new, and whose weight was set by hand.
std::string duty_lines(const PoolView& view) {
  std::string text;
  for (const HostView& host : view.hosts) {
    if (host.duty != Duty::serving) {
      text += "duty       " + host.name + " is " + std::string(name_of(host.duty)) + ": " +
              std::string(host.duty_by == SetBy::host     ? "its own loadprobe says so"
                          : host.duty_by == SetBy::weight ? "it has weight 0"
                                                          : "set by hand");
      if (host.left) text += ", " + age_text(host.left) + " left";
      text += (host.reason.empty() ? "" : " (" + host.reason + ")") + "\n";
    }
    if (host.weight_by_hand) {
      text += "weight     " + host.name + " has " + json_number(host.weight) +
              ", set by hand; configured: " + json_number(host.configured_weight) + "\n";
    }
  }
  return text;
}

std::string reply_lines(const Request& request, const Decision& decision, const Config& config) {
  const bool is_handed_off = decision.host && decision.plan.action == Action::accel;
  if (is_relay(decision) || is_handed_off) return relay_lines(request, config.hosts[*decision.host]);
  std::string text = "status     " + std::to_string(decision.reply.status) + "\n";
  for (const auto& [name, value] : decision.reply.headers) {
    if (name == "Location") text += "Location   " + base::escaped(value, kShownBytes * 4) + "\n";
  }
  return text;
}

}  // namespace

base::Result<Explanation> explain(const Inquiry& asked, const Config& config, const Table* table,
                                  const HandView& by_hand, const std::vector<ByHand>& kept, Instant now, Draw draw,
                                  const Table* clients) {
  if (!base::parse_address(asked.client)) {
    return base::Error{base::Fault::usage, "explain: --client is '" + base::escaped(asked.client) +
                                               "'; wanted an IPv4 or IPv6 address, such as 192.0.2.7"};
  }
  const std::string script = config.public_url ? config.public_url->path : config.script;
  const base::Result<Inquiry> inquiry = with_url_taken_apart(asked, script);
  if (!inquiry) return inquiry.error();
  Variables variables;
  fill(variables, *inquiry, config, script);
  const base::Result<Request> request = parse_request(variables.raw, config);
  if (!request) return base::Error{base::Fault::usage, "explain: " + request.error().what};

  std::string text = "request    " + base::escaped(inquiry->method) + " " +
                     base::escaped(variables.request_uri, kShownBytes) +
                     (request->client_on_https ? " (client on https)" : "") + "\n";
  text += "class      " + std::string(name_of(request->class_)) + " (" + base::escaped(request->why) + ")\n";
  const Plan plan = plan_for(*request, config, Relaying::built_in);
  text += "plan       " + action_text(plan) + "\n";
  if (!needs_host(plan)) {
    const Decision decision = decide_without_host(*request, config, plan);
    return Explanation{text + reply_lines(*request, decision, config), status_of(decision)};
  }
  const std::optional<Bond> bond = bond_of(*request, config, table, clients, now);
  text += sticky_lines(*inquiry, config, bond);
  if (table == nullptr) {
    const Decision decision = decide_by_weight(*request, config, plan, draw, kept, now);
    return Explanation{text + "chosen     by weight: there is no table\n" + choice_lines(decision, config) +
                           why_not_redirected(*request, plan, decision, config) +
                           reply_lines(*request, decision, config) + local_lines(*request, decision, config),
                       status_of(decision)};
  }
  const Snapshot snapshot =
      snapshot_for(*request, config, plan, *table, now, draw, bond ? std::optional(bond->host) : std::nullopt);
  const Decision decision = decide(*request, config, plan, snapshot, draw);
  text += "chosen     " + believed(snapshot, table->pool().value_or(PoolStanding{})) + "\n";
  if (snapshot.preferred && *snapshot.preferred < config.hosts.size()) {
    text += "client     got its page from " + config.hosts[*snapshot.preferred].name + "\n";
  }
  if (config.hosts.size() > kScanned) {
    text += "candidates " + std::to_string(snapshot.candidates.size()) + " of " + std::to_string(config.hosts.size()) +
            " hosts; each request draws its own\n";
  }
  text += duty_lines(view_of(config, *table, by_hand, nullptr, now));
  text += "\n" + host_lines(*request, config, plan, *table, snapshot, decision.choice) + "\n";
  text += choice_lines(decision, config) + why_not_redirected(*request, plan, decision, config) +
          reply_lines(*request, decision, config) + local_lines(*request, decision, config);
  return Explanation{std::move(text), status_of(decision)};
}

}  // namespace balance
