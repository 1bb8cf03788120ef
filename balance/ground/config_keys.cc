// SPDX-License-Identifier: MIT
// The keys of balance.conf: one table, one reader each. Floor 1: pure functions, any thread.
#include <algorithm>
#include <array>

#include "balance/ground/config_draft.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using base::Seconds;

// A reader gives what is wrong with the value, as it stands behind the key's name, or "".
using Reader = std::string (*)(Draft& draft, std::string_view value);

template <class T>
struct Choice {
  std::string_view name;
  T value;
};

template <class T, std::size_t N>
std::string read_choice(std::string_view value, const std::array<Choice<T>, N>& choices, T& target) {
  std::vector<std::string_view> names;
  std::string wanted;
  for (const Choice<T>& choice : choices) {
    if (choice.name == value) {
      target = choice.value;
      return "";
    }
    if (!names.empty()) wanted += names.size() + 1 == N ? " or " : ", ";
    wanted += choice.name;
    names.push_back(choice.name);
  }
  return is_but(value, wanted) + nearest_of(value, names);
}

constexpr std::array kYesNo = {Choice<bool>{"yes", true}, Choice<bool>{"no", false}};
constexpr std::array kModes = {Choice<Mode>{"auto", Mode::automatic}, Choice<Mode>{"redirect", Mode::redirect},
                               Choice<Mode>{"relay", Mode::relay}};
constexpr std::array kSticky = {Choice<Sticky>{"none", Sticky::none}, Choice<Sticky>{"client", Sticky::client},
                                Choice<Sticky>{"client-wild", Sticky::client_wild},
                                Choice<Sticky>{"cookie", Sticky::cookie}};
constexpr std::array kDrainSticky = {Choice<DrainSticky>{"keep", DrainSticky::keep},
                                     Choice<DrainSticky>{"move", DrainSticky::move}};
constexpr std::array kOnlineResource = {Choice<bool>{"set", true}, Choice<bool>{"unset", false}};
constexpr std::array kProbeKinds = {
    Choice<ProbeKind>{"loadprobe", ProbeKind::loadprobe}, Choice<ProbeKind>{"node-exporter", ProbeKind::node_exporter},
    Choice<ProbeKind>{"rstat", ProbeKind::rstat}, Choice<ProbeKind>{"none", ProbeKind::none}};
constexpr std::array kAnswers = {Choice<Answer>{"redirect", Answer::redirect},
                                 Choice<Answer>{"307", Answer::redirect_307}, Choice<Answer>{"relay", Answer::relay},
                                 Choice<Answer>{"accel", Answer::accel}};
constexpr std::array kBodyAnswers = {Choice<Answer>{"307", Answer::redirect_307},
                                     Choice<Answer>{"relay", Answer::relay}, Choice<Answer>{"accel", Answer::accel}};
constexpr std::array kArtifactAnswers = {Choice<Answer>{"redirect", Answer::redirect},
                                         Choice<Answer>{"307", Answer::redirect_307},
                                         Choice<Answer>{"relay", Answer::relay}};

struct DurationRange {
  Seconds least, most;
};
constexpr DurationRange kIntervals{Seconds{0.05}, Seconds{3600}};
constexpr DurationRange kTimeouts{Seconds{0.01}, Seconds{60}};
constexpr DurationRange kExpiries{Seconds{0.1}, Seconds{86400}};
constexpr DurationRange kDrainWaits{Seconds{0}, Seconds{3600}};
constexpr DurationRange kStickyTimeouts{Seconds{1}, Seconds{86400}};
constexpr DurationRange kResponseTimeouts{Seconds{0.1}, Seconds{3600}};

template <class T>
std::string read_duration(std::string_view value, DurationRange range, T& target) {
  const base::Result<Seconds> duration = base::duration(value);
  if (!duration) return ": " + duration.error().what;
  if (*duration < range.least || *duration > range.most) {
    return is_but(value, base::to_text(range.least) + " to " + base::to_text(range.most));
  }
  target = *duration;
  return "";
}

struct WholeRange {
  std::uint64_t least, most;
};

template <class T>
std::string read_whole(std::string_view value, WholeRange range, T& target) {
  const std::optional<std::uint64_t> number = base::whole_number(value);
  if (!number || *number < range.least || *number > range.most) {
    return is_but(value, std::to_string(range.least) + " to " + std::to_string(range.most));
  }
  target = static_cast<std::uint16_t>(*number);
  return "";
}

// Words between spaces, tabs and commas.
std::vector<std::string_view> list_of(std::string_view value) {
  std::vector<std::string_view> list;
  for (const std::string_view piece : base::split(value, ',')) {
    for (const std::string_view word : base::words(piece)) list.push_back(word);
  }
  return list;
}

std::string read_public_url(Draft& draft, std::string_view value) {
  base::Result<Url> url = parse_url(value);
  if (!url) return ": " + url.error().what;
  draft.config.public_url = *std::move(url);
  return "";
}

std::string read_script(Draft& draft, std::string_view value) {
  if (std::string fault = fault_of_path(value); !fault.empty()) return ": " + fault;
  while (value.size() > 1 && value.ends_with('/')) value.remove_suffix(1);
  draft.config.script = value;
  return "";
}

std::string read_local(Draft& draft, std::string_view value) {
  const std::vector<std::string_view> words = base::words(value);
  if (words.size() != 2) return is_but(value, "the name of a host and a path, such as 'pinchot /cgi-bin/mapserv.real'");
  if (std::string fault = fault_of_path(words[1]); !fault.empty()) return ": " + fault;
  draft.local_name = words[0];
  draft.local_path = words[1];
  while (draft.local_path.size() > 1 && draft.local_path.ends_with('/')) draft.local_path.pop_back();
  return "";
}

// A secret: what is wrong with it is said without it.
std::string read_sticky_key(Draft& draft, std::string_view value) {
  constexpr std::size_t kLeast = 16, kMost = 200;
  if (value.size() < kLeast || value.size() > kMost) {
    return " has " + std::to_string(value.size()) + " bytes; wanted " + std::to_string(kLeast) + " to " +
           std::to_string(kMost);
  }
  draft.config.sticky.key = value;
  return "";
}

std::string read_panic(Draft& draft, std::string_view value) {
  const bool has_sign = value.ends_with('%');
  const std::optional<double> percent = base::number(has_sign ? value.substr(0, value.size() - 1) : value);
  if (!percent || *percent < 0 || *percent > 100 || (!has_sign && *percent != 0)) {
    return is_but(value, "a percentage such as 50%, or 0");
  }
  draft.config.panic = *percent / 100;
  return "";
}

std::string read_folder(std::string_view value, std::string& target) {
  if (!value.starts_with('/')) return is_but(value, "an absolute path");
  target = value;
  return "";
}

std::string read_spool_dir(Draft& draft, std::string_view value) {
  if (!value.starts_with('/')) return is_but(value, "an absolute path");
  draft.config.relay.spool_dir = value;
  return "";
}

std::string read_ca_file(Draft& draft, std::string_view value) {
  if (!value.starts_with('/')) return is_but(value, "an absolute path");
  draft.config.relay.ca_file = value;
  return "";
}

std::string read_max_body(Draft& draft, std::string_view value) {
  constexpr std::uint64_t kLeast = 1024, kMost = std::uint64_t{64} << 30;
  const base::Result<std::uint64_t> bytes = base::size_bytes(value);
  if (!bytes) return ": " + bytes.error().what;
  if (*bytes < kLeast || *bytes > kMost) return is_but(value, "1kB to 64GB");
  draft.config.relay.max_body_bytes = *bytes;
  return "";
}

std::string read_trusted_proxies(Draft& draft, std::string_view value) {
  for (const std::string_view word : list_of(value)) {
    const base::Result<base::Cidr> range = base::parse_cidr(word);
    if (!range) return ": " + range.error().what;
    draft.config.trusted_proxies.push_back(*range);
  }
  return "";
}

bool is_cookie_name(std::string_view name) {
  constexpr std::string_view kSeparators = "()<>@,;:\\\"/[]?={}";
  return std::ranges::all_of(
      name, [kSeparators](char c) { return c > 0x20 && c < 0x7F && kSeparators.find(c) == std::string_view::npos; });
}

// Replaces the default list; 'none' alone empties it.
std::string read_private_cookies(Draft& draft, std::string_view value) {
  std::vector<std::string> names;
  for (const std::string_view word : list_of(value)) {
    if (!is_cookie_name(word)) return is_but(word, "names of cookies, or none");
    names.emplace_back(word);
  }
  if (names.empty()) return is_but(value, "names of cookies, or none");
  if (names.size() == 1 && names.front() == "none") names.clear();
  draft.config.private_cookies = std::move(names);
  return "";
}

std::string read_artifact_prefixes(Draft& draft, std::string_view value) {
  for (const std::string_view word : list_of(value)) {
    if (std::string fault = fault_of_path(word); !fault.empty()) return ": " + fault;
    if (word == "/") return is_but(word, "a folder below it: every request would be under this");
    draft.config.artifact_prefixes.emplace_back(word);
  }
  return "";
}

std::string read_long_location(Draft& draft, std::string_view value) {
  constexpr std::uint64_t kLeast = 200, kMost = 65536;
  const base::Result<std::uint64_t> bytes = base::size_bytes(value);
  if (!bytes) return ": " + bytes.error().what;
  if (*bytes < kLeast || *bytes > kMost) return is_but(value, "200 to 64kB");
  draft.config.long_bytes = *bytes;
  return "";
}

std::string read_cors_origin(Draft& draft, std::string_view value) {
  if (value == "none") {
    draft.config.cors_origin.clear();
    return "";
  }
  if (value != "*") {
    const base::Result<Url> url = parse_url(value);
    if (!url || !url->path.empty() || value.ends_with('/'))
      return is_but(value, "*, none or one origin such as https://gis.example.org");
    draft.config.cors_origin = origin_of(*url);
    return "";
  }
  draft.config.cors_origin = value;
  return "";
}

std::string read_web_path(Draft& draft, std::string_view value) {
  const std::string_view path = value.substr(0, value.find('?'));
  if (std::string fault = fault_of_path(path); !fault.empty()) return ": " + fault;
  if (safe_in_header(value) != value) return is_but(value, "only bytes that may stand in a URL");
  draft.config.probe.web_path = value;
  return "";
}

std::string read_probe_port(Draft& draft, std::string_view value) {
  return read_whole(value, {0, 65535}, draft.probe_port);
}

struct Key {
  std::string_view name;
  Reader read;
};

constexpr std::array kKeys = {
    Key{"public-url", read_public_url},
    Key{"script", read_script},
    Key{"mode", [](Draft& d, std::string_view v) { return read_choice(v, kModes, d.config.mode); }},
    Key{"sticky", [](Draft& d, std::string_view v) { return read_choice(v, kSticky, d.config.sticky.kind); }},
    Key{"sticky-timeout",
        [](Draft& d, std::string_view v) { return read_duration(v, kStickyTimeouts, d.config.sticky.timeout); }},
    Key{"sticky-key", read_sticky_key},
    Key{"local", read_local},
    Key{"peers",
        [](Draft& d, std::string_view v) {
          return read_whole(v, {1, 64}, d.config.peers);
        }},
    Key{"panic", read_panic},
    Key{"backup-below",
        [](Draft& d, std::string_view v) {
          return read_whole(v, {1, 32}, d.config.backup_below);
        }},
    Key{"drain-sticky",
        [](Draft& d, std::string_view v) { return read_choice(v, kDrainSticky, d.config.drain_sticky); }},
    Key{"drain-wait", [](Draft& d, std::string_view v) { return read_duration(v, kDrainWaits, d.config.drain_wait); }},
    Key{"state-dir", [](Draft& d, std::string_view v) { return read_folder(v, d.config.state_dir); }},
    Key{"keep-dir", [](Draft& d, std::string_view v) { return read_folder(v, d.config.keep_dir); }},
    Key{"max-connections",
        [](Draft& d, std::string_view v) {
          return read_whole(v, {1, 10000}, d.config.max_connections);
        }},
    Key{"trusted-proxies", read_trusted_proxies},
    Key{"allow-downgrade",
        [](Draft& d, std::string_view v) { return read_choice(v, kYesNo, d.config.allow_downgrade); }},
    Key{"private-cookies", read_private_cookies},
    Key{"artifact-prefixes", read_artifact_prefixes},
    Key{"long-location", read_long_location},
    Key{"onlineresource",
        [](Draft& d, std::string_view v) { return read_choice(v, kOnlineResource, d.config.onlineresource_set); }},
    Key{"cors-origin", read_cors_origin},
    Key{"host-header", [](Draft& d, std::string_view v) { return read_choice(v, kYesNo, d.config.host_header); }},
    Key{"probe.kind", [](Draft& d, std::string_view v) { return read_choice(v, kProbeKinds, d.probe_kind); }},
    Key{"probe.port", read_probe_port},
    Key{"probe.interval",
        [](Draft& d, std::string_view v) { return read_duration(v, kIntervals, d.config.probe.interval); }},
    Key{"probe.timeout",
        [](Draft& d, std::string_view v) { return read_duration(v, kTimeouts, d.config.probe.timeout); }},
    Key{"probe.expire",
        [](Draft& d, std::string_view v) { return read_duration(v, kExpiries, d.config.probe.expire); }},
    Key{"probe.web-interval",
        [](Draft& d, std::string_view v) { return read_duration(v, kIntervals, d.config.probe.web_interval); }},
    Key{"probe.web-timeout",
        [](Draft& d, std::string_view v) { return read_duration(v, kTimeouts, d.config.probe.web_timeout); }},
    Key{"probe.web-path", read_web_path},
    Key{"relay.connect-timeout",
        [](Draft& d, std::string_view v) { return read_duration(v, kTimeouts, d.config.relay.connect_timeout); }},
    Key{"relay.response-timeout",
        [](Draft& d,
           std::string_view v) { return read_duration(v, kResponseTimeouts, d.config.relay.response_timeout); }},
    Key{"relay.stall-timeout",
        [](Draft& d, std::string_view v) { return read_duration(v, kResponseTimeouts, d.config.relay.stall_timeout); }},
    Key{"relay.max-body", read_max_body},
    Key{"relay.spool-dir", read_spool_dir},
    Key{"relay.ca-file", read_ca_file},
    Key{"relay.verify", [](Draft& d, std::string_view v) { return read_choice(v, kYesNo, d.config.relay.verify); }},
};

// OPTIONS has none: it is always answered here.
constexpr std::array<Choice<Class>, kClasses - 1> kAnswerKeys = {{
    {"answer.body", Class::body},
    {"answer.artifact", Class::artifact},
    {"answer.private", Class::private_},
    {"answer.document", Class::document},
    {"answer.long", Class::long_},
    {"answer.cors", Class::cors},
    {"answer.image", Class::image},
    {"answer.data", Class::data},
    {"answer.page", Class::page},
}};

std::string read_answer(Draft& draft, Class c, std::string_view value) {
  Answer& answer = draft.config.answers[static_cast<std::size_t>(c)];
  if (c == Class::artifact) {
    if (value == "accel")
      return is_but(value, "redirect, 307 or relay: what one host does not have another is asked for");
    return read_choice(value, kArtifactAnswers, answer);
  }
  if (c != Class::body) return read_choice(value, kAnswers, answer);
  if (value == "redirect") return is_but(value, "307, relay or accel: a 302 would lose the body");
  return read_choice(value, kBodyAnswers, answer);
}

}  // namespace

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys{"host"};
  for (const Key& key : kKeys) keys.push_back(key.name);
  for (const Choice<Class>& key : kAnswerKeys) keys.push_back(key.name);
  return keys;
}

namespace {

std::string unknown_key(const std::string& key) {
  const std::string unknown = "unknown key '" + base::escaped(key) + "'";
  if (is_host_option(key)) return unknown + ": it belongs on the line of a host, behind the URL";
  std::string what = base::unknown_key(key, known_keys());
  if (!key.starts_with("answer.") || what != unknown) return what;
  for (const Choice<Class>& one : kAnswerKeys) {
    what += (&one == kAnswerKeys.begin() ? "; wanted " : ", ") + std::string(one.name);
  }
  return what;
}

}  // namespace

KeyReader::KeyReader(Draft& draft) : draft_(draft), seen_(kKeys.size() + kAnswerKeys.size(), 0) {}

void KeyReader::read(const base::Setting& setting, std::size_t index) {
  if (setting.key == "host") return read_host(setting.value, index, draft_);
  const auto* key = std::ranges::find(kKeys, std::string_view(setting.key), &Key::name);
  const auto* answer = std::ranges::find(kAnswerKeys, std::string_view(setting.key), &Choice<Class>::name);
  std::string fault;
  if (key != kKeys.end()) {
    fault = std::exchange(seen_[static_cast<std::size_t>(key - kKeys.begin())], 1) != 0
                ? " is given again; wanted it once"
                : key->read(draft_, setting.value);
  } else if (answer != kAnswerKeys.end()) {
    const auto position = kKeys.size() + static_cast<std::size_t>(answer - kAnswerKeys.begin());
    fault = std::exchange(seen_[position], 1) != 0 ? " is given again; wanted it once"
                                                   : read_answer(draft_, answer->value, setting.value);
  } else if (setting.key == "answer.options") {
    fault = " is not for choice: OPTIONS is always answered by the balancer";
  } else {
    draft_.faults.push_back({index, unknown_key(setting.key)});
    return;
  }
  if (!fault.empty()) draft_.faults.push_back({index, setting.key + fault});
}

std::optional<ProbeKind> probe_kind_of(std::string_view name) {
  const auto* kind = std::ranges::find(kProbeKinds, name, &Choice<ProbeKind>::name);
  if (kind == kProbeKinds.end()) return std::nullopt;
  return kind->value;
}

std::string_view name_of(ProbeKind kind) {
  const auto* choice = std::ranges::find(kProbeKinds, kind, &Choice<ProbeKind>::value);
  return choice == kProbeKinds.end() ? std::string_view{} : choice->name;
}

std::string_view name_of(Sticky kind) {
  const auto* choice = std::ranges::find(kSticky, kind, &Choice<Sticky>::value);
  return choice == kSticky.end() ? std::string_view{} : choice->name;
}

std::string is_but(std::string_view found, std::string_view wanted) {
  return std::string(" is '").append(base::escaped(found)).append("'; wanted ").append(wanted);
}

std::string nearest_of(std::string_view word, const std::vector<std::string_view>& known) {
  if (!word.empty() && word.front() >= '0' && word.front() <= '9') return "";  // 302 is not meant to be 307
  const std::string near = base::nearest(word, known);
  return near.empty() ? "" : "; the nearest is '" + near + "'";
}

}  // namespace balance
