// SPDX-License-Identifier: MIT
#include "balance/perl/conf.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "balance/ground/config.h"
#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

bool is_address(std::string_view host) {
  return host.front() == '[' || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_of_this_machine(std::string_view host) {
  return base::lower(host).starts_with("localhost") || host.starts_with("127.") || host == "[::1]";
}

std::string place(const std::string& file, std::size_t line) {
  return line == 0 ? file + ": " : file + ":" + std::to_string(line) + ": ";
}

class Writer {
 public:
  Writer(const Pool& pool, const std::string& file) : pool_(pool), file_(base::printable(file, 500)) {}
  Imported run();

 private:
  void write_remarks();
  void write_settings();
  void write_hosts();
  std::string full_name(const Member& member) const;
  std::string url(const Member& member) const;
  std::string name(const Member& member);
  std::string host_line(const Member& member);
  std::optional<std::string> target(const std::string& line) const;
  // What is quoted of the script may be anything.
  std::string said(std::size_t line, const std::string& what) const {
    constexpr std::size_t kMost = 400;
    return place(file_, line) + base::printable(what, kMost);
  }
  void doubt(std::size_t line, const std::string& what) { doubts_.push_back(said(line, what)); }

  const Pool& pool_;
  const std::string file_;
  std::string body_;
  std::vector<std::string> doubts_;
  std::set<std::string> names_;
  std::set<std::string> targets_;
};

std::string Writer::full_name(const Member& member) const {
  const bool is_whole = pool_.domain.empty() || is_address(member.host) || member.host.find('.') != std::string::npos;
  return is_whole ? member.host : member.host + "." + pool_.domain;
}

std::string Writer::url(const Member& member) const {
  const std::string& scheme = member.scheme.empty() ? pool_.scheme : member.scheme;
  const std::string& port = member.port.empty() ? pool_.port : member.port;
  const bool is_usual = port.empty() || port == (scheme == "https" ? "443" : "80");
  return scheme + "://" + full_name(member) + (is_usual ? "" : ":" + port);
}

// The first part of its name; the whole where two would be called the same.
std::string Writer::name(const Member& member) {
  constexpr std::size_t kMost = 60;
  std::string found = member.host;
  if (!is_address(found)) found = found.substr(0, found.find('.'));
  std::erase_if(found, [](char c) { return c == '[' || c == ']'; });
  std::replace(found.begin(), found.end(), ':', '-');
  if (names_.contains(base::lower(found)) && !is_address(member.host)) found = member.host;
  found = found.substr(0, kMost);
  const std::string stem = found;
  for (int i = 2; names_.contains(base::lower(found)); ++i) found = stem + "-" + std::to_string(i);
  names_.insert(base::lower(found));
  return found;
}

// Where clients would be sent by this line, as it is compared with others'; nothing if balance.conf cannot have it.
std::optional<std::string> Writer::target(const std::string& line) const {
  base::Result<Config> config = parse_config("script = " + pool_.script + "\n" + line, file_);
  if (!config) config = parse_config(line, file_);
  if (!config) return std::nullopt;
  const HostConfig& host = config->hosts.front();
  Url url = host.public_url.value_or(host.inside);
  if (url.host.ends_with('.')) url.host.pop_back();
  return to_text(url) + host.script;
}

std::string Writer::host_line(const Member& member) {
  std::string line = "host = " + name(member) + " " + url(member);
  const std::string script = member.script.substr(0, member.script.find('?'));
  if (!script.empty() && script != pool_.script) line += " script=" + script;
  if (!member.weight.empty() && member.weight != "1") line += " weight=" + member.weight;
  if (!member.inside.empty()) {
    const bool is_url = member.inside.find("://") != std::string::npos;
    line += std::string(" inside=") + (is_url ? "" : "http://") + member.inside;
  }
  return line;
}

void Writer::write_hosts() {
  for (const Member& member : pool_.members) {
    const std::string line = host_line(member);
    const std::optional<std::string> sent_to = target(line);
    if (is_of_this_machine(member.host)) {
      doubt(member.line, "found the host '" + member.host +
                             "'; wanted a name that clients can reach: to them it is their own machine");
      body_ += "#" + line + "\n";
    } else if (!sent_to) {
      doubt(member.line, "found '" + as_text(line) + "', which balance.conf cannot have; wanted a host");
      body_ += "#" + as_text(line) + "\n";
    } else if (!targets_.insert(*sent_to).second) {
      doubt(member.line, "found '" + member.host +
                             "' once more; wanted every host once: if that gave it more requests, say weight=2");
      body_ += "#" + line + "\n";
    } else {
      body_ += line + "\n";
    }
  }
}

void Writer::write_settings() {
  if (!pool_.public_url.empty()) {
    body_ += "# As clients know the balancer; the script stood at " + as_text(pool_.public_url) + "\n";
    body_ += "#public-url = https://maps.example.org/cgi-bin/mapserv\n";
  }
  const std::string line = "script = " + pool_.script;
  const bool is_fine = static_cast<bool>(parse_config(line + "\nhost = a http://a.example.org\n", file_));
  if (!is_fine) doubt(0, "found mapserv's path '" + as_text(pool_.script) + "'; wanted one as /cgi-bin/mapserv");
  body_ += (is_fine ? line : "#" + as_text(line)) + "\n";
}

void Writer::write_remarks() {
  for (const Remark& remark : pool_.remarks) {
    if (remark.weight == Remark::Weight::doubt) doubt(remark.line, remark.what);
  }
}

Imported Writer::run() {
  write_remarks();
  write_settings();
  write_hosts();
  if (pool_.asks_rup) {
    body_ +=
        "\n[probe]\n"
        "# As rup did, this asks rpc.rstatd. loadprobe(8) on every host tells more, four times a second: once it runs\n"
        "# there, take this line away.\n"
        "kind = rstat\n";
  }
  Imported made;
  made.conf = "# balance.conf, made from " + file_ + " by 'balancectl import'. 'balancectl check' reads it.\n";
  if (!doubts_.empty()) made.conf += "# To be looked at:\n";
  for (const std::string& doubt : doubts_) made.conf += "#   " + doubt + "\n";
  std::string notes;
  for (const Remark& remark : pool_.remarks) {
    if (remark.weight == Remark::Weight::note) notes += "#   " + said(remark.line, remark.what) + "\n";
  }
  if (!notes.empty()) made.conf += "# Not taken over:\n" + notes;
  made.conf += "\n" + body_;
  made.doubts = std::move(doubts_);
  return made;
}

}  // namespace

Imported imported(const Pool& pool, const std::string& file) { return Writer(pool, file).run(); }

}  // namespace balance::perl
