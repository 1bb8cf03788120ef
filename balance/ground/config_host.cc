// SPDX-License-Identifier: MIT
// The host lines of balance.conf. Floor 1: pure functions, any thread.
#include <algorithm>
#include <array>
#include <cstdint>

#include "balance/ground/config_draft.h"
#include "balance/ground/config_values.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::size_t kLongestName = 63;

// A line's state while its options are read: what the host line says of URLs can only be judged at its end.
struct HostLine {
  HostDraft draft;
  std::optional<Url> inside, inside_only;
};

// A reader gives what is wrong with an option's value, as it stands behind the option's name, or "".
using Reader = std::string (*)(HostLine& line, std::string_view value);

std::string read_base_url(std::string_view value, std::optional<Url>& target) {
  base::Result<Url> url = parse_url(value);
  if (!url) return ": " + url.error().what;
  if (!url->path.empty()) return is_but(value, "no path: the path of mapserv is given by script=");
  target = *std::move(url);
  return "";
}

std::string read_weight(HostLine& line, std::string_view value) {
  constexpr double kMost = 1000;
  const std::optional<double> weight = base::number(value);
  if (!weight || *weight < 0 || *weight > kMost) return is_but(value, "0 to 1000");
  line.draft.host.weight = *weight;
  return "";
}

std::string read_cores(HostLine& line, std::string_view value) {
  constexpr double kMost = 4096;
  const std::optional<double> cores = base::number(value);
  if (!cores || *cores <= 0 || *cores > kMost) return is_but(value, "more than 0, at most 4096");
  line.draft.host.cores = *cores;
  return "";
}

std::string read_probe(HostLine& line, std::string_view value) {
  const std::size_t colon = value.find(':');
  const std::string_view name = value.substr(0, colon);
  const std::optional<ProbeKind> kind = probe_kind_of(name);
  if (!kind) {
    return is_but(value, "loadprobe, node-exporter, rstat or none, and :PORT if it is not the usual one") +
           nearest_of(name, {"loadprobe", "node-exporter", "rstat", "none"});
  }
  line.draft.probe = *kind;
  if (colon == std::string_view::npos) return "";
  if (*kind == ProbeKind::none) return is_but(value, "no port: nothing is asked");
  const std::uint64_t least = *kind == ProbeKind::rstat ? 0 : 1;
  const std::optional<std::uint64_t> port = base::whole_number(value.substr(colon + 1));
  if (!port || *port < least || *port > 65535)
    return is_but(value, "a port from " + std::to_string(least) + " to 65535");
  line.draft.probe_port = static_cast<std::uint16_t>(*port);
  return "";
}

struct Option {
  std::string_view name;
  Reader read;
};
constexpr std::array kOptions = {
    Option{"inside", [](HostLine& line, std::string_view v) { return read_base_url(v, line.inside); }},
    Option{"inside-only", [](HostLine& line, std::string_view v) { return read_base_url(v, line.inside_only); }},
    Option{"script", [](HostLine& line, std::string_view v) { return read_script_path(v, line.draft.host.script); }},
    Option{"weight", read_weight},
    Option{"cores", read_cores},
    Option{"probe", read_probe},
};
constexpr std::string_view kBackup = "backup";

std::string unknown_option(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string_view> known{kBackup};
  for (const Option& option : kOptions) known.push_back(option.name);
  return "unknown option '" + base::escaped(word) + "'" + nearest_of(name, known);
}

// How many words an option takes from `at` on if there are blanks around its '=', as in 'weight = 2'; else 0.
std::size_t words_with_blanks(const std::vector<std::string_view>& words, std::size_t at) {
  const std::string_view name = words[at].substr(0, words[at].find('='));
  if (!is_host_option(name) || name == kBackup || at + 1 == words.size()) return 0;
  const std::string_view next = words[at + 1];
  const bool has_equals = name.size() < words[at].size();
  if (!has_equals) return next.front() != '=' ? 0 : next.size() > 1 || at + 2 == words.size() ? 2 : 3;
  const bool ends_there = name.size() + 1 == words[at].size();
  return ends_there && !is_host_option(next.substr(0, next.find('='))) ? 2 : 0;
}

// The second word is the URL, unless it is an option: an '=' in front of any '://'.
bool is_option(std::string_view word) {
  const std::size_t equals = word.find('=');
  return word == kBackup || (equals != std::string_view::npos && equals < word.find("://"));
}

class HostReader {
 public:
  HostReader(std::string_view value, std::size_t index, Draft& draft) : index_(index), draft_(draft) {
    line_.draft.setting = index;
    line_.draft.host.script.clear();
    read(base::words(value));
  }

 private:
  void read(const std::vector<std::string_view>& words) {
    if (words.empty() || !is_host_name(words.front())) {
      const std::string found = words.empty() ? "" : base::escaped(words.front());
      const std::string name = "host: the name is '" + found + "'; ";
      return fault(name + "wanted at most 63 letters, digits, '.', '-' and '_'");
    }
    line_.draft.host.name = words.front();
    where_ = "host " + line_.draft.host.name;
    std::size_t next = 1;
    if (words.size() > 1 && !is_option(words[1]) && words_with_blanks(words, 1) == 0) read_url(words[next++]);
    while (next < words.size()) {
      if (const std::size_t torn = words_with_blanks(words, next); torn > 0) {
        refuse_blanks(words, next, torn);
        next += torn;
      } else {
        read_option(words[next++]);
      }
    }
    finish();
  }

  void refuse_blanks(const std::vector<std::string_view>& words, std::size_t at, std::size_t count) {
    std::string found, wanted;
    for (std::size_t i = at; i < at + count; ++i) {
      found += (i == at ? "" : " ") + base::escaped(words[i]);
      wanted += base::escaped(words[i]);
    }
    met_.push_back(words[at].substr(0, words[at].find('=')));
    fault(where_ + ": found '" + found + "'; wanted '" + wanted + "', without blanks");
  }

  void read_url(std::string_view word) {
    url_read_ = true;
    if (std::string what = read_base_url(word, line_.draft.host.public_url); !what.empty()) {
      fault(where_ + (what.front() == ':' ? "" : ": the URL") + what);
    }
  }

  void read_option(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (std::ranges::find(met_, name) != met_.end()) {
      return fault(where_ + ": " + std::string(name) + " is given again; wanted it once");
    }
    met_.push_back(name);
    if (word == kBackup) {
      line_.draft.host.backup = true;
      return;
    }
    const auto* option = std::ranges::find(kOptions, name, &Option::name);
    if (!is_host_option(name)) return fault(where_ + ": " + unknown_option(word));
    if (option == kOptions.end() || equals == std::string_view::npos) {
      const std::string wanted = std::string(name) + (name == kBackup ? "' alone" : "=...'");
      return fault(where_ + ": found '" + base::escaped(word) + "'; wanted '" + wanted);
    }
    const std::string what = option->read(line_, word.substr(equals + 1));
    if (!what.empty()) fault(where_ + ": " + std::string(name) + what);
  }

  bool has(std::string_view option) const { return std::ranges::find(met_, option) != met_.end(); }

  void finish() {
    if (has("inside-only") && (url_read_ || has("inside"))) {
      fault(where_ + ": inside-only stands beside another URL; wanted it alone, or inside= for a host that has both");
    } else if (!url_read_ && !has("inside-only")) {
      fault(where_ + ": found no URL; wanted one such as http://" + line_.draft.host.name + ".example.org:8080");
    }
    if (failed_) return;
    line_.draft.host.inside = line_.inside_only ? *line_.inside_only
                              : line_.inside    ? *line_.inside
                                                : *line_.draft.host.public_url;
    draft_.hosts.push_back(std::move(line_.draft));
  }

  void fault(std::string what) {
    failed_ = true;
    draft_.faults.push_back({index_, std::move(what)});
  }

  std::size_t index_;
  Draft& draft_;
  HostLine line_;
  std::string where_;
  std::vector<std::string_view> met_;
  bool url_read_ = false, failed_ = false;
};

}  // namespace

bool is_host_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    const char letter = base::lower(c);
    return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

bool is_host_option(std::string_view name) {
  return name == kBackup || std::ranges::find(kOptions, name, &Option::name) != kOptions.end();
}

void read_host(std::string_view value, std::size_t index, Draft& draft) {
  const HostReader reader(value, index, draft);
}

std::uint16_t default_port(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::loadprobe:
      return 9719;
    case ProbeKind::node_exporter:
      return 9100;
    case ProbeKind::rstat:
    case ProbeKind::none:
      return 0;
  }
  return 0;
}

}  // namespace balance
