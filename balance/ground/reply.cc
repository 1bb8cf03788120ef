// SPDX-License-Identifier: MIT
// Floor 1: values and pure functions, any thread.
#include "balance/ground/reply.h"

#include <algorithm>
#include <cassert>

#include "balance/ground/pages.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::string_view kMethods = "GET, HEAD, POST, OPTIONS";
// Beside what was asked: what map clients send that browsers ask leave for.
constexpr std::string_view kUsualHeaders[] = {"Content-Type", "Authorization", "X-Requested-With"};
constexpr std::string_view kPreflightSeconds = "86400";  // browsers cap it (Chromium at 7200, Firefox at 86400)
constexpr std::string_view kRetryAfterSeconds = "5";     // a host comes back within three seconds of its return

std::string_view phrase_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 302:
      return "Found";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 413:
      return "Content Too Large";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 508:
      return "Loop Detected";
    default:
      return "Status";
  }
}

bool is_one_line(std::string_view text) {
  for (const char c : text) {
    if (c == '\r' || c == '\n' || c == '\0') return false;
  }
  return true;
}

void add_cors(Reply& reply, const Config& config) {
  if (!config.cors_origin.empty()) reply.headers.emplace_back("Access-Control-Allow-Origin", config.cors_origin);
}

void add_body(Reply& reply, Document document) {
  reply.headers.emplace_back("Content-Type", document.type);
  reply.headers.emplace_back("Content-Length", std::to_string(document.body.size()));
  reply.body = std::move(document.body);
}

Reply trouble(int status, Page which, Format format, const Config& config, std::string_view reason) {
  Reply reply;
  reply.status = status;
  reply.headers.emplace_back("Cache-Control", "no-store");
  if (status == 503) reply.headers.emplace_back("Retry-After", kRetryAfterSeconds);
  add_cors(reply, config);
  add_body(reply, document(which, format,
                           {{"reason", reason},
                            {"seconds", kRetryAfterSeconds},
                            {"status", std::to_string(status)},
                            {"title", phrase_of(status)}}));
  return reply;
}

// By the mode and the class, where no answer.* is set: without the relaying that these would better have, classes that
// a redirect can serve at all are redirected.
Action default_action(Class c, Mode mode, Relaying relaying) {
  const bool can_relay = relaying == Relaying::built_in && mode != Mode::redirect;
  switch (c) {
    case Class::options:
      return Action::answer_options;
    case Class::body:
      return can_relay ? Action::relay : Action::redirect_307;
    case Class::artifact:
    case Class::private_:
    case Class::document:
    case Class::long_:
    case Class::cors:
      return can_relay ? Action::relay : Action::redirect_302;
    case Class::image:
    case Class::data:
    case Class::page:
      return Action::redirect_302;
  }
  return Action::redirect_302;
}

Plan relay_or_refuse(Relaying relaying, std::string setting) {
  if (relaying == Relaying::built_in) return {Action::relay, ""};
  return {Action::refuse, std::move(setting)};
}

Plan redirect_or_relay(Action action, const Config& config, Relaying relaying) {
  return {action, "", relaying == Relaying::built_in && config.mode != Mode::redirect};
}

// The configured answer to a class, and where there is none what the mode makes of it.
Plan plan_of(Class c, const Config& config, Relaying relaying) {
  if (c == Class::options) return {Action::answer_options, ""};
  switch (config.answers[static_cast<std::size_t>(c)]) {
    case Answer::redirect:
      return redirect_or_relay(Action::redirect_302, config, relaying);
    case Answer::redirect_307:
      return redirect_or_relay(Action::redirect_307, config, relaying);
    case Answer::relay:
      return relay_or_refuse(relaying, "answer." + std::string(name_of(c)));
    case Answer::accel:
      return {Action::accel, ""};
    case Answer::by_default:
      break;
  }
  if (config.mode == Mode::relay) return relay_or_refuse(relaying, "mode");
  const Action action = default_action(c, config.mode, relaying);
  return action == Action::relay ? Plan{action, ""} : redirect_or_relay(action, config, relaying);
}

}  // namespace

std::string to_cgi(const Reply& reply, Method method) {
  std::string out;
  constexpr std::size_t kUsualHeadBytes = 2048;
  out.reserve(kUsualHeadBytes + reply.body.size());
  assert(is_one_line(reply.phrase));
  if (reply.status != 0) {
    out.append("Status: ").append(std::to_string(reply.status));
    out.append(1, ' ').append(reply.phrase.empty() ? phrase_of(reply.status) : reply.phrase).append("\r\n");
  }
  for (const auto& [name, value] : reply.headers) {
    assert(is_one_line(value));  // names are our own
    out.append(name).append(": ").append(value).append("\r\n");
  }
  out.append("\r\n");
  if (method != Method::head) out.append(reply.body);
  return out;
}

Plan plan_for(const Request& request, const Config& config, Relaying relaying) {
  if (request.is_relayed_round && request.class_ != Class::options) return {Action::answer_loop, ""};
  Plan plan = plan_of(request.class_, config, relaying);
  // Another web server than nginx would send the order on to the client; one that tried and failed leaves it to us.
  // nginx would pass our own cookie on to the host.
  const bool has_cookies = config.sticky.kind == Sticky::cookie;
  if (plan.action == Action::accel && (request.hand_off_to.empty() || request.failed || has_cookies)) {
    return relay_or_refuse(relaying, "answer." + std::string(name_of(request.class_)));
  }
  return plan;
}

bool relays_all(const Config& config) {
  if (config.mode != Mode::relay) return false;
  return std::ranges::all_of(config.answers,
                             [](Answer answer) { return answer == Answer::by_default || answer == Answer::relay; });
}

bool ever_relays(const Config& config) {
  for (std::size_t c = 0; c < kClasses; ++c) {
    const Action action = plan_of(static_cast<Class>(c), config, Relaying::built_in).action;
    if (action == Action::relay || action == Action::accel) return true;
  }
  if (config.mode == Mode::redirect) return false;
  return std::ranges::any_of(config.hosts, [&config](const HostConfig& host) {
    return !host.public_url || (host.public_url->scheme == Scheme::http && !config.allow_downgrade);
  });
}

std::string path_on(const Request& request, const HostConfig& host) {
  if (request.class_ == Class::artifact) return request.path;
  const bool at_root = host.script == "/" && !request.path_info.empty();
  return (at_root ? "" : host.script) + request.path_info;
}

std::string_view name_of(Target target) {
  switch (target) {
    case Target::fit:
      return "fit";
    case Target::inside_only:
      return "inside-only";
    case Target::downgrade:
      return "downgrade";
    case Target::loop:
      return "loop";
    case Target::failed:
      return "failed";
  }
  return "";
}

std::string_view reason_of(Target target) {
  switch (target) {
    case Target::fit:
      return "";
    case Target::inside_only:
      return "The hosts that are left have no public URL (inside-only): they can be reached by relaying alone, and "
             "this "
             "program does not relay.";
    case Target::downgrade:
      return "The client came by https and the hosts that are left have http URLs: give them https URLs, or set "
             "allow-downgrade = yes.";
    case Target::loop:
      return "The hosts that are left are this balancer itself: give them another address or script.";
    case Target::failed:
      return "The only map host that is left failed just now.";
  }
  return "";
}

Target target_of(const Request& request, const HostConfig& host, const Config& config) {
  if (stays_here(request, host, config)) return Target::fit;
  if (!host.public_url) return Target::inside_only;
  if (same_server(*host.public_url, request.self)) {  // asked of every host at every request: the cheap test first
    const bool is_own_path = percent_decoded(path_on(request, host)) == percent_decoded(request.path);
    if (is_own_path || is_loop(host, request.self)) return Target::loop;
  }
  const bool is_downgrade = request.client_on_https && host.public_url->scheme != Scheme::https;
  return is_downgrade && !config.allow_downgrade ? Target::downgrade : Target::fit;
}

// The balancer may be known under a name of its own: public-url, or what this request says.
Target relay_target_of(const Request& request, const HostConfig& host, const Config& config) {
  if (request.failed && request.failed->host == host.name) return Target::failed;
  HostConfig by_inside = host;
  by_inside.public_url = host.inside;
  const bool is_own_path = same_server(host.inside, request.self) &&
                           percent_decoded(path_on(request, host)) == percent_decoded(request.path);
  if (is_own_path || is_loop(by_inside, request.self)) return Target::loop;
  return config.public_url && is_loop(by_inside, *config.public_url) ? Target::loop : Target::fit;
}

Target target_of(const Request& request, const HostConfig& host, const Config& config, const Plan& plan) {
  if (plan.action == Action::relay || plan.action == Action::accel) return relay_target_of(request, host, config);
  const Target target = target_of(request, host, config);
  const bool only_relayed = target == Target::inside_only || target == Target::downgrade;
  return only_relayed && plan.or_relay ? relay_target_of(request, host, config) : target;
}

Action action_at(const Request& request, const HostConfig& host, const Config& config, const Plan& plan) {
  if (plan.action == Action::relay || plan.action == Action::accel) return plan.action;
  if (stays_here(request, host, config)) return Action::redirect_locally;
  return plan.or_relay && target_of(request, host, config) != Target::fit ? Action::relay : plan.action;
}

std::string location(const Request& request, const HostConfig& host) {
  assert(host.public_url);
  const std::string origin = origin_of(*host.public_url), path = path_on(request, host);
  std::string out;
  out.reserve(origin.size() + path.size() + 1 + request.query.size());
  out.append(origin).append(path);
  if (!request.query.empty()) out.append(1, '?').append(request.query);
  return out;
}

Reply redirect(const Request& request, const HostConfig& host, const Config& config, Action action) {
  assert(action == Action::redirect_302 || action == Action::redirect_307);
  std::string target = location(request, host);
  constexpr std::string_view kBegin = "<!DOCTYPE html>\n<title>Moved for now</title>\n<p><a href=\"";
  constexpr std::string_view kEnd = "\">The answer is here.</a></p>\n";
  const std::string link = html_escaped(target);
  std::string body;
  body.reserve(kBegin.size() + link.size() + kEnd.size());
  body.append(kBegin).append(link).append(kEnd);
  Reply reply;
  constexpr std::size_t kMostHeaders = 8;
  reply.headers.reserve(kMostHeaders);
  reply.status = action == Action::redirect_307 ? 307 : 302;
  reply.headers.emplace_back("Location", std::move(target));
  reply.headers.emplace_back("Cache-Control", "no-store");
  add_cors(reply, config);
  if (config.host_header) reply.headers.emplace_back("X-Balance-Host", host.name);
  add_body(reply, {"text/html; charset=utf-8", std::move(body)});
  return reply;
}

bool stays_here(const Request& request, const HostConfig& host, const Config& config) {
  if (!config.local || !request.may_stay_here || config.sticky.kind == Sticky::cookie) return false;
  if (request.class_ == Class::artifact || config.hosts[config.local->host].name != host.name) return false;
  return percent_decoded(config.local->path) != percent_decoded(request.self.path);
}

Reply local_redirect(const Request& request, const Config& config) {
  std::string target = config.local->path + request.path_info;
  if (!request.query.empty()) target.append(1, '?').append(request.query);
  Reply reply;
  reply.status = 0;
  reply.headers.emplace_back("Location", std::move(target));
  return reply;
}

Reply options_reply(const Request& request, const Config& config) {
  Reply reply;
  reply.status = 204;
  reply.headers.emplace_back("Allow", kMethods);
  if (config.cors_origin.empty()) return reply;
  std::string allowed = request.asked_headers;
  const std::vector<std::string_view> asked = base::split(request.asked_headers, ',');
  for (const std::string_view usual : kUsualHeaders) {
    const auto is_usual = [usual](std::string_view name) { return base::same_ignoring_case(base::trim(name), usual); };
    if (std::ranges::any_of(asked, is_usual)) continue;
    allowed.append(allowed.empty() ? "" : ", ").append(usual);
  }
  add_cors(reply, config);
  reply.headers.emplace_back("Access-Control-Allow-Methods", kMethods);
  reply.headers.emplace_back("Access-Control-Allow-Headers", std::move(allowed));
  reply.headers.emplace_back("Access-Control-Max-Age", kPreflightSeconds);
  return reply;
}

Format format_of(const Request& request) {
  return asked_format({.query = request.query, .path_info = request.path_info, .content_type = request.content_type});
}

Format format_of(const RawRequest& raw) {
  return asked_format({.query = raw.query_string, .path_info = raw.path_info, .content_type = raw.content_type});
}

Reply unavailable(const Request& request, const Config& config, std::string_view reason) {
  return trouble(503, Page::unavailable, format_of(request), config, reason);
}

Reply loop_detected(const Request& request, const Config& config) {
  return trouble(508, Page::loop_detected, format_of(request), config, reason_of(Target::loop));
}

Reply bad_request(const Config& config, Format format, std::string_view reason) {
  return trouble(400, Page::bad_request, format, config, reason);
}

Reply internal_error(const Config& config, Format format) {
  return trouble(500, Page::internal_error, format, config, "");
}

Reply too_large(const Request& request, const Config& config) {
  return trouble(413, Page::too_large, format_of(request), config, "");
}

Reply bad_gateway(const Request& request, const Config& config, std::string_view reason) {
  return trouble(502, Page::bad_gateway, format_of(request), config, reason);
}

Reply gateway_timeout(const Request& request, const Config& config, std::string_view reason) {
  return trouble(504, Page::gateway_timeout, format_of(request), config, reason);
}

}  // namespace balance
