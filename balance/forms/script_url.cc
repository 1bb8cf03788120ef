// SPDX-License-Identifier: MIT
#include "balance/forms/script_url.h"

#include <fnmatch.h>

#include <algorithm>

#include "loadprobe/base/text.h"

namespace balance::forms {
namespace {

constexpr auto kNowhere = std::string_view::npos;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alphanumeric(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

// What stands in paths without a second meaning in HTML, in templates or in URLs.
bool is_plain(char c) { return is_alphanumeric(c) || std::string_view("-._~/%+,!").find(c) != kNowhere; }
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c); });
}

// A page has a word every few bytes: most patterns are no globs and need no copies.
bool fits(std::string_view glob, std::string_view part) {
  if (glob.find_first_of("*?[\\") == kNowhere) return base::same_ignoring_case(glob, part);
  return fnmatch(std::string(glob).c_str(), std::string(part).c_str(), FNM_CASEFOLD) == 0;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (const auto part : base::split(text, '/')) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::optional<std::size_t> parts_length(std::string_view path, std::string_view pattern) {
  if (path.find('/') == kNowhere && pattern.find('/', 1) != kNowhere) return std::nullopt;
  const auto globs = parts_of(pattern);
  const auto parts = parts_of(path);
  if (globs.empty()) return std::nullopt;
  for (std::size_t first = 0; first + globs.size() <= parts.size(); ++first) {
    std::size_t same = 0;
    while (same < globs.size() && fits(globs[same], parts[first + same])) ++same;
    if (same < globs.size()) continue;
    const auto last = parts[first + same - 1];
    return static_cast<std::size_t>(last.data() + last.size() - path.data());
  }
  return std::nullopt;
}

bool is_authority(std::string_view text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == kNowhere) return false;
    const auto address = text.substr(1, close - 1);
    // Hexadecimal digits and colons, so that no template's [tag] passes.
    if (address.find_first_not_of("0123456789abcdefABCDEF:.") != kNowhere || address.find(':') == kNowhere)
      return false;
    text.remove_prefix(close + 1);
    return text.empty() || (text.front() == ':' && text.find_first_not_of("0123456789", 1) == kNowhere);
  }
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '.' || c == ':' || c == '_';
  });
}

std::string_view without_port(std::string_view authority) {
  const auto colon = authority.rfind(':');
  return colon == kNowhere || authority.ends_with(']') ? authority : authority.substr(0, colon);
}

// A word that is the script's bare name is more often a form's or a variable's than a URL.
bool bare_name_is_a_url(std::string_view text, Span word) {
  if (word.end < text.size() && text[word.end] == '?') return true;
  if (word.begin == 0 || word.end == text.size()) return false;
  const char quote = text[word.begin - 1];
  if (quote == '\\') return true;
  if ((quote != '"' && quote != '\'') || text[word.end] != quote) return false;
  auto before = word.begin - 1;
  while (before > 0 && is_space(text[before - 1])) --before;
  return before > 0 && text[before - 1] != '[' && text[before - 1] != '(';
}

bool names_a_script(std::string_view text, Span word, const std::vector<std::string>& scripts) {
  auto url = text.substr(word.begin, word.size());
  while (url.ends_with('.') || url.ends_with(',') || url.ends_with(':') || url.ends_with('!')) url.remove_suffix(1);
  if (!script_length(url, scripts)) return false;
  const bool bare = url.find('/') == kNowhere && url.find('.') == kNowhere;
  return !bare || bare_name_is_a_url(text, word);
}

// The length of '[program]' or '[..._onlineresource]' at `at`, or 0.
std::size_t tag_length(std::string_view text, std::size_t at) {
  const auto close = text.substr(at, 80).find(']');
  if (close == kNowhere) return 0;
  const auto name = base::lower(text.substr(at + 1, close - 1));
  return name == "program" || name.ends_with("_onlineresource") ? close + 1 : 0;
}

}  // namespace

std::vector<std::string> default_scripts() {
  return {"mapserv",          "mapserv.exe",          "mapserv.fcgi",
          "/cgi-bin/mapserv", "/cgi-bin/mapserv.exe", "/cgi-bin/mapserv.fcgi"};
}

std::optional<std::size_t> script_length(std::string_view path, const std::vector<std::string>& scripts) {
  for (const auto& pattern : scripts) {
    if (pattern.find('/') != kNowhere) {
      if (const auto length = parts_length(path, pattern)) return length;
    } else if (fits(pattern, last_part(path))) {
      return path.size();
    }
  }
  return std::nullopt;
}

Head read_head(std::string_view text) {
  Head head;
  const auto colon = text.find(':');
  if (colon != kNowhere && text.find('/') > colon) {
    const auto scheme = base::lower(text.substr(0, colon));
    if (scheme.empty() || !is_letter(scheme.front()) || !is_plain(scheme)) return head;
    if (scheme != "http" && scheme != "https") {
      head.kind = Head::Kind::foreign;
      return head;
    }
    text.remove_prefix(colon + 1);
    if (!text.starts_with("//")) return head;
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    head.authority = text.substr(0, text.find('/'));
    if (!is_authority(head.authority)) return head;
    text.remove_prefix(head.authority.size());
  }
  // '~/' is a program's own root in ASP.NET.
  if (!is_plain(text) || text.starts_with("~/")) return head;
  head.path = text;
  head.kind = head.authority.empty() ? Head::Kind::relative : Head::Kind::absolute;
  return head;
}

bool is_ours(std::string_view authority, const Rules& rules) {
  if (rules.hosts.empty()) return true;
  const auto to = read_head(rules.to).authority;
  if (base::same_ignoring_case(without_port(authority), without_port(to))) return true;
  return std::any_of(rules.hosts.begin(), rules.hosts.end(), [authority](const std::string& host) {
    return base::same_ignoring_case(host, authority) || base::same_ignoring_case(host, without_port(authority));
  });
}

bool comes_back(std::string_view text, const Rules& rules) {
  return text.starts_with(rules.to) && (text.size() == rules.to.size() || text[rules.to.size()] == '/');
}

std::vector<std::size_t> mentions(std::string_view text, const std::vector<std::string>& scripts) {
  std::vector<std::size_t> found;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '[' && tag_length(text, at) > 0) found.push_back(at);
    if (!is_plain(text[at]) && text[at] != ':') {
      ++at;
      continue;
    }
    Span word{at, at};
    while (word.end < text.size() && (is_plain(text[word.end]) || text[word.end] == ':')) ++word.end;
    if (names_a_script(text, word, scripts)) found.push_back(word.begin);
    at = word.end;
  }
  return found;
}

}  // namespace balance::forms
