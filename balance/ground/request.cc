// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/request.h"

#include <algorithm>
#include <array>

#include "balance/ground/hand_off.h"
#include "balance/ground/header_rules.h"
#include "balance/ground/relay_request.h"
#include "balance/ground/sticky.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using base::Error;
using base::Fault;
using base::Result;

struct Variable {
  std::string_view name;
  std::string_view RawRequest::*field;
};
constexpr std::array kVariables = {
    Variable{"REQUEST_METHOD", &RawRequest::method},
    Variable{"QUERY_STRING", &RawRequest::query_string},
    Variable{"REQUEST_URI", &RawRequest::request_uri},
    Variable{"SCRIPT_NAME", &RawRequest::script_name},
    Variable{"PATH_INFO", &RawRequest::path_info},
    Variable{"HTTPS", &RawRequest::https},
    Variable{"SERVER_NAME", &RawRequest::server_name},
    Variable{"SERVER_PORT", &RawRequest::server_port},
    Variable{"REMOTE_ADDR", &RawRequest::remote_addr},
    Variable{"SERVER_SOFTWARE", &RawRequest::server_software},
    Variable{"CONTENT_TYPE", &RawRequest::content_type},
    Variable{"CONTENT_LENGTH", &RawRequest::content_length},
    Variable{"HTTP_HOST", &RawRequest::host},
    Variable{"HTTP_ORIGIN", &RawRequest::origin},
    Variable{"HTTP_AUTHORIZATION", &RawRequest::authorization},
    Variable{"HTTP_COOKIE", &RawRequest::cookie},
    Variable{"HTTP_USER_AGENT", &RawRequest::user_agent},
    Variable{"HTTP_X_FORWARDED_FOR", &RawRequest::x_forwarded_for},
    Variable{"HTTP_X_FORWARDED_PROTO", &RawRequest::x_forwarded_proto},
    Variable{"HTTP_ACCESS_CONTROL_REQUEST_METHOD", &RawRequest::access_control_request_method},
    Variable{"HTTP_ACCESS_CONTROL_REQUEST_HEADERS", &RawRequest::access_control_request_headers},
    Variable{"HTTP_SEC_FETCH_MODE", &RawRequest::sec_fetch_mode},
    Variable{"HTTP_REFERER", &RawRequest::referer},
    Variable{"HTTP_ACCEPT", &RawRequest::accept},
    Variable{"BALANCE_ACCEL", &RawRequest::balance_accel},
    Variable{"BALANCE_FAILED", &RawRequest::balance_failed},
};

// The same by the length of their names, since each request brings dozens of others: only names of one length are
// compared. Those of `length` are from begin[length] to begin[length + 1].
constexpr std::size_t kLongestName = 35;
struct ByLength {
  std::array<Variable, kVariables.size()> variables = kVariables;
  std::array<std::uint8_t, kLongestName + 2> begin{};
};
constexpr ByLength kByLength = [] {
  ByLength all;
  std::ranges::sort(all.variables, {}, [](const Variable& variable) { return variable.name.size(); });
  for (std::size_t length = 0; length < all.begin.size(); ++length) {
    while (all.begin[length] < all.variables.size() && all.variables[all.begin[length]].name.size() < length) {
      ++all.begin[length];
    }
  }
  return all;
}();
static_assert(kByLength.variables.back().name.size() == kLongestName);

const Variable* variable_named(std::string_view name) {
  if (name.size() > kLongestName) return nullptr;
  for (std::size_t i = kByLength.begin[name.size()]; i < kByLength.begin[name.size() + 1]; ++i) {
    if (kByLength.variables[i].name == name) return &kByLength.variables[i];
  }
  return nullptr;
}

Method method_of(std::string_view text) {
  if (text == "GET") return Method::get;
  if (text == "HEAD") return Method::head;
  if (text == "POST") return Method::post;
  if (text == "OPTIONS") return Method::options;
  return Method::other;
}

// The path of REQUEST_URI as the client sent it ('/path?query' or 'http://host/path?query'), or "" if it has none.
std::string_view path_of_uri(std::string_view uri) {
  uri = uri.substr(0, uri.find_first_of("?#"));
  if (uri.starts_with('/')) return uri;
  const std::size_t authority = uri.find("://");
  if (authority == std::string_view::npos) return {};
  const std::size_t path = uri.find('/', authority + 3);
  return path == std::string_view::npos ? std::string_view{} : uri.substr(path);
}

// How many bytes of `raw`, once decoded, spell `script`. Web servers merge '//' in SCRIPT_NAME, so it may stand for
// '/'.
std::optional<std::size_t> spelled(std::string_view raw, std::string_view script) {
  if (raw.starts_with(script) && script.find('%') == std::string_view::npos) return script.size();
  std::size_t at = 0;
  for (std::size_t i = 0; i < script.size();) {
    if (at >= raw.size()) return std::nullopt;
    const int byte = byte_of_code(raw, at);
    const char c = byte < 0 ? raw[at] : static_cast<char>(byte);
    if (c == script[i]) {
      ++i;
    } else if (c != '/' || i == 0 || script[i - 1] != '/') {
      return std::nullopt;
    }
    at += byte < 0 ? 1 : 3;
  }
  return at;
}

struct Paths {
  std::string path_info, path;  // safe in a header; "" or '/...'
};

Paths paths_of(const RawRequest& raw) {
  const std::string_view uri_path = path_of_uri(raw.request_uri);
  // A gateway that names no script and no path info says nothing of where the script ends.
  const bool knows_script = !raw.script_name.empty() || !raw.path_info.empty();
  const std::optional<std::size_t> end = spelled(uri_path, raw.script_name);
  if (!uri_path.empty() && knows_script && end) {
    std::string_view rest = uri_path.substr(*end);
    if (rest == "/" && raw.script_name.empty()) rest = {};  // mapped at '/': that is the script itself
    // Where it climbs the web server has resolved it, and PATH_INFO is what it made of it.
    if (rest.empty() || (rest.front() == '/' && !climbs(rest))) return {safe_in_header(rest), safe_in_header(uri_path)};
  }
  std::string path_info = encoded_path(raw.path_info);
  if (!path_info.empty() && path_info.front() != '/') path_info.insert(0, 1, '/');
  std::string path = uri_path.empty() ? encoded_path(raw.script_name) + path_info : safe_in_header(uri_path);
  return {std::move(path_info), std::move(path)};
}

bool says_https(std::string_view forwarded_proto) {
  const std::vector<std::string_view> list = base::split(forwarded_proto, ',');
  return std::ranges::any_of(
      list, [](std::string_view proto) { return base::same_ignoring_case(base::trim(proto), "https"); });
}

// '192.0.2.1', '192.0.2.1:4711', '[2001:db8::7]:4711' as proxies write it.
std::optional<base::Address> forwarded_address(std::string_view text) {
  text = base::trim(text);
  if (const std::optional<base::Address> address = base::parse_address(text)) return address;
  return base::parse_address(text.substr(0, text.rfind(':')));
}

// Of a list that proxies append to, what the nearest one wrote: the only one that is trusted.
std::string_view last_of(std::string_view list) { return base::trim(list.substr(list.rfind(',') + 1)); }

// The peer (REMOTE_ADDR), or if that is a trusted proxy the last in X-Forwarded-For that is not one.
std::optional<base::Address> client_of(const std::optional<base::Address>& peer, const RawRequest& raw,
                                       const Config& config) {
  if (raw.x_forwarded_for.empty()) return peer;
  std::optional<base::Address> client = peer;
  const std::vector<std::string_view> list = base::split(raw.x_forwarded_for, ',');
  for (auto said = list.rbegin(); said != list.rend() && client && contains(config.trusted_proxies, *client); ++said) {
    const std::optional<base::Address> address = forwarded_address(*said);
    if (!address) break;
    client = address;
  }
  return client;
}

// 'maps.example.org', '[::1]:8080' as a Host header has it; nothing else.
std::optional<Url> named(const std::string& begin, std::string_view authority) {
  if (authority.empty() || authority.find_first_of("/\\?#") != std::string_view::npos) return std::nullopt;
  Result<Url> url = parse_url(begin + std::string(authority));
  return url ? std::optional(*std::move(url)) : std::nullopt;
}

// What a trusted proxy says of the name and port under which the client knows it.
std::optional<Url> forwarded_self(const RawRequest& raw, const std::string& begin) {
  std::optional<Url> url = named(begin, last_of(raw.header("X_FORWARDED_HOST")));
  const std::optional<std::uint64_t> port = base::whole_number(last_of(raw.header("X_FORWARDED_PORT")));
  if (!port || *port < 1 || *port > 65535) return url;
  if (!url) url = named(begin, raw.host);
  if (url) url->port = static_cast<std::uint16_t>(*port);
  return url;
}

enum class Peer : std::uint8_t { anybody, trusted_proxy };

Url self_of(const RawRequest& raw, Scheme scheme, Peer peer) {
  const std::string begin = scheme == Scheme::https ? "https://" : "http://";
  std::optional<Url> url = peer == Peer::trusted_proxy ? forwarded_self(raw, begin) : std::nullopt;
  if (!url) url = named(begin, raw.host);
  if (!url) {
    const bool bare_ipv6 = raw.server_name.find(':') != std::string_view::npos && !raw.server_name.starts_with('[');
    const std::string name = bare_ipv6 ? "[" + std::string(raw.server_name) + "]" : std::string(raw.server_name);
    url = named(begin, name + (raw.server_port.empty() ? "" : ":" + std::string(raw.server_port)));
  }
  Url self = url.value_or(Url{});
  self.scheme = scheme;
  self.path = raw.script_name;
  while (self.path.ends_with('/')) self.path.pop_back();
  return self;
}

std::string header_list(std::string_view text) {
  constexpr std::size_t kMostBytes = 2000;
  if (text.size() > kMostBytes) return "";
  std::string out;
  for (const std::string_view piece : base::split(text, ',')) {
    const std::string_view name = base::trim(piece);
    if (!is_token(name)) return "";
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

std::size_t location_bytes(const Request& request, const Config& config) {
  return config.longest_base + request.path_info.size() + (request.query.empty() ? 0 : 1 + request.query.size());
}

}  // namespace

RawRequest raw_request(const char* const* variables) {
  RawRequest raw;
  constexpr std::size_t kUsualHeaders = 16;
  raw.headers.reserve(kUsualHeaders);
  for (; *variables != nullptr; ++variables) {
    const std::string_view text(*variables);
    const std::size_t end = text.find('=');
    if (end == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, end);
    constexpr std::string_view kHeader = "HTTP_";
    if (name.size() > kHeader.size() && name.starts_with(kHeader)) {
      raw.headers.push_back({name.substr(kHeader.size()), text.substr(end + 1)});
    }
    const Variable* const variable = variable_named(name);
    if (variable == nullptr) continue;
    std::string_view& field = raw.*(variable->field);
    if (field.data() == nullptr) field = text.substr(end + 1);  // the first, as getenv() has it
  }
  return raw;
}

std::string_view RawRequest::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Header::name);
  return found == headers.end() ? std::string_view{} : found->value;
}

bool redirects_locally(const RawRequest& raw) {
  if (raw.method != "GET" && raw.method != "HEAD") return false;
  return raw.server_software.starts_with("Apache") || raw.server_software.starts_with("lighttpd");
}

Result<Request> parse_request(const RawRequest& raw, const Config& config) {
  if (!is_token(raw.method)) {
    return Error{Fault::input,
                 "the method is '" + base::escaped(raw.method, 40) + "'; wanted GET, HEAD, POST or OPTIONS"};
  }
  Request request;
  request.method = method_of(raw.method);
  request.query = safe_in_header(raw.query_string);
  Paths paths = paths_of(raw);
  request.path_info = std::move(paths.path_info);
  if (!request.path_info.empty() && climbs(request.path_info)) {
    return Error{Fault::input, "the path behind the script is '" + base::escaped(request.path_info, 70) +
                                   "'; wanted one without '..', which would lead out of the script"};
  }
  request.path = std::move(paths.path);
  const std::optional<base::Address> peer = base::parse_address(raw.remote_addr);
  const bool from_trusted_proxy = peer && contains(config.trusted_proxies, *peer);
  const bool on_https = base::same_ignoring_case(raw.https, "on") || raw.https == "1" ||
                        (from_trusted_proxy && says_https(raw.x_forwarded_proto));
  request.self =
      self_of(raw, on_https ? Scheme::https : Scheme::http, from_trusted_proxy ? Peer::trusted_proxy : Peer::anybody);
  request.client_on_https = on_https || (config.public_url && config.public_url->scheme == Scheme::https);
  request.client = client_of(peer, raw, config);
  request.content_type = raw.content_type;
  request.asked_headers = header_list(raw.access_control_request_headers);
  const std::string decoded_path = percent_decoded(request.path);
  Verdict verdict = classify({.method = request.method,
                              .query = raw.query_string,
                              .path_info = request.path_info,
                              .path = decoded_path,
                              .authorization = raw.authorization,
                              .cookie = raw.cookie,
                              .origin = raw.origin,
                              .sec_fetch_mode = raw.sec_fetch_mode,
                              .host = raw.host,
                              .referer = raw.referer,
                              .accept = raw.accept,
                              .location_bytes = location_bytes(request, config)},
                             config);
  request.class_ = verdict.class_;
  request.content = verdict.content;
  request.why = std::move(verdict.why);
  request.is_relayed_round = is_relayed_round(raw, config);
  request.is_page_follow_up = verdict.is_page_follow_up;
  request.hand_off_to = named_location(raw.balance_accel);
  if (!request.hand_off_to.empty()) request.failed = failed_hand_off(raw.balance_failed);
  if (config.sticky.kind == Sticky::cookie) request.cookie_host = host_of_cookie(raw.cookie, config);
  return request;
}

}  // namespace balance
