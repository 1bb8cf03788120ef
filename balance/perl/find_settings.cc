// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "balance/perl/findings.h"
#include "balance/perl/members.h"
#include "balance/perl/target.h"
#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

void take_scalar(Findings& found, const std::string& name, const std::string& text, std::size_t line) {
  const std::string bare = base::lower(name.substr(name.front() == '$' ? 1 : 0));
  const bool is_domain = names_any(bare, {"domain", "suffix"}) || bare == "dom";
  if (is_domain) {
    found.pool.domain = text.starts_with('.') ? text.substr(1) : text;
    if (!found.pool.domain.empty() && !member_of(found.pool.domain, 0)) {
      found.doubt(line, name + " is " + "'" + as_text(text) + "'; wanted a domain, as example.org");
      found.pool.domain.clear();
    }
    found.used.insert(name);
  } else if (names_any(bare, {"port"}) && !names_any(bare, {"report", "support", "import", "export"})) {
    if (is_port(text)) {
      found.pool.port = text;
      found.has_port = true;
    } else {
      found.doubt(line, name + " is '" + as_text(text) + "'; wanted a port, 1 to 65535");
    }
    found.used.insert(name);
  } else if ((bare == "proto" || bare == "protocol" || bare == "scheme") && text.starts_with("http")) {
    found.pool.scheme = text.starts_with("https") ? "https" : "http";
    found.used.insert(name);
  } else if (names_any(bare, {"mapserv", "script", "cgi", "program"}) && text.find("://") == std::string::npos &&
             text.find("balance") == std::string::npos && !text.empty()) {
    const std::string path = text.substr(0, text.find('?'));
    if (bare.find("dir") == std::string::npos) {
      found.pool.script = path.starts_with('/') ? path : "/cgi-bin/" + path;
      found.has_script = true;
      found.used.insert(name);
      if (!path.starts_with('/')) found.note(line, name + " is '" + as_text(text) + "', taken as " + found.pool.script);
    }
  }
}

// A domain that only the script finds out leaves names that clients may not know.
void doubt_unknown(Findings& found, const std::string& name, const Value& value) {
  const bool is_missed = std::any_of(found.pool.members.begin(), found.pool.members.end(), [](const Member& member) {
    return member.host.find('.') == std::string::npos && member.host.front() != '[';
  });
  if (!is_missed || name.front() != '$' || !names_any(name, {"domain", "suffix"})) return;
  found.doubt(value.line, name + " is made while the script runs; wanted a domain, as 'example.org'");
  found.used.insert(name);
}

void take_path(Findings& found, const Target& target) {
  if (target.path.empty() || target.path == "/") return;
  if (target.path_is_made) {
    if (found.has_script) return;
    found.doubt(target.line, "the path that clients are sent to is made while the script runs; wanted mapserv's, " +
                                 found.pool.script + " was taken");
    return;
  }
  if (target.path.find("balance") != std::string::npos) return;  // replaced by a substitution, or a loop
  found.pool.script = target.path;
  found.has_script = true;
}

// s/balance.pl/mapserv/: the rest of the path stays.
void find_substitutions(Findings& found) {
  for (const Token& substitution : found.script.substitutions) {
    std::string from;
    for (const char c : substitution.text) {
      if (c != '\\') from += c;
    }
    const std::size_t slash = from.rfind('/');
    const std::string last_part = slash == std::string::npos ? from : from.substr(slash + 1);
    if (last_part.find("balance") == std::string::npos || found.has_script) continue;
    std::string to;
    for (const char c : substitution.other) {
      if (c != '\\') to += c;
    }
    to = to.substr(0, to.find('?'));
    // ':$port{$best}/cgi-bin/mapserv': what follows the last variable may be a whole path.
    if (const std::size_t last = to.rfind('$'); last != std::string::npos) {
      const std::size_t path = std::min(to.find('/', last), to.size());
      if (to.size() - path > 1) to = to.substr(path);
    }
    if (to.find('$') != std::string::npos) {
      found.doubt(substitution.line, "balance.pl is replaced by '" + as_text(to) + "'; wanted mapserv's path");
      continue;
    }
    found.pool.script = to.starts_with('/') ? to : "/cgi-bin/" + to;
    found.has_script = true;
  }
}

}  // namespace

void find_scalars(Findings& found) {
  for (const auto& [name, value] : found.script.known) {
    const std::optional<std::string> text = value.text();
    if (!text) doubt_unknown(found, name, value);
    if (!text || name.front() == '@' || name.front() == '%' || found.used.contains(name)) continue;
    if (found.script.volatile_names.contains(name) && text->empty()) continue;
    take_scalar(found, name, *text, found.line_of(name));
    if (found.used.contains(name) && found.script.volatile_names.contains(name)) {
      found.doubt(found.line_of(name),
                  name + " is '" + as_text(*text) + "' first and changes later; the first was taken");
    }
  }
}

void find_target(Findings& found) {
  bool is_taken = false;
  for (const Value& url : found.script.urls) {
    const Target target = target_of(url);
    if (!target.is_url) continue;
    if (!target.host_is_variable) {
      const bool names_balancer = target.path.find("balance") != std::string::npos;
      const bool is_member =
          std::any_of(found.pool.members.begin(), found.pool.members.end(),
                      [&](const Member& member) { return target.host.substr(0, member.host.size()) == member.host; });
      if (names_balancer) found.pool.public_url = target.text;
      if (!names_balancer && !is_member) found.note(target.line, "the URL '" + as_text(target.text) + "' was not used");
      continue;
    }
    if (std::exchange(is_taken, true)) continue;
    if (!target.scheme.empty()) found.pool.scheme = target.scheme;
    if (!target.domain.empty()) found.pool.domain = target.domain;
    if (!target.port.empty() && !found.has_port) found.pool.port = target.port;
    take_path(found, target);
  }
  find_substitutions(found);
}

}  // namespace balance::perl
