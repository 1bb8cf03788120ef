// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/config_special.h"

#include <algorithm>
#include <array>

#include "balance/ground/config_values.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::array<Named<Answer>, 4> kAnswers{{{"redirect", Answer::redirect},
                                                 {"307", Answer::redirect_307},
                                                 {"relay", Answer::relay},
                                                 {"accel", Answer::accel}}};
constexpr std::array<Named<Answer>, 3> kBodyAnswers{
    {{"307", Answer::redirect_307}, {"relay", Answer::relay}, {"accel", Answer::accel}}};
constexpr std::array<Named<Answer>, 3> kArtifactAnswers{
    {{"redirect", Answer::redirect}, {"307", Answer::redirect_307}, {"relay", Answer::relay}}};

bool is_cookie_name(std::string_view name) {
  constexpr std::string_view kSeparators = "()<>@,;:\\\"/[]?={}";
  return std::ranges::all_of(
      name, [kSeparators](char c) { return c > 0x20 && c < 0x7F && kSeparators.find(c) == std::string_view::npos; });
}

}  // namespace

std::string read_public_url(Draft& draft, std::string_view value) {
  base::Result<Url> url = parse_url(value);
  if (!url) return ": " + url.error().what;
  draft.config.public_url = *std::move(url);
  return "";
}

std::string read_local(Draft& draft, std::string_view value) {
  const std::vector<std::string_view> words = base::words(value);
  if (words.size() != 2) return is_but(value, "the name of a host and a path, such as 'pinchot /cgi-bin/mapserv.real'");
  std::string fault = read_script_path(words[1], draft.local_path);
  if (fault.empty()) draft.local_name = words[0];
  return fault;
}

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

std::string read_trusted_proxies(Draft& draft, std::string_view value) {
  for (const std::string_view word : list_of(value)) {
    const base::Result<base::Cidr> range = base::parse_cidr(word);
    if (!range) return ": " + range.error().what;
    draft.config.trusted_proxies.push_back(*range);
  }
  return "";
}

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

}  // namespace balance
