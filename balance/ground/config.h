// SPDX-License-Identifier: MIT
// balance.conf: text -> base::Settings -> Config, once; after that nothing re-checks.
// Floor 1: values and pure functions, any thread. The manual is man/balance.conf.5.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balance/ground/class.h"
#include "balance/ground/url.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/settings.h"
#include "loadprobe/base/time.h"

namespace balance {

enum class ProbeKind : std::uint8_t { loadprobe, node_exporter, rstat, none };
std::string_view name_of(ProbeKind kind);  // as in the file: 'node-exporter'

// How often a host is asked by default: asked of every host at every choice, so it is to be inlined.
constexpr base::Seconds usual_interval(ProbeKind kind) {
  return base::Seconds{kind == ProbeKind::node_exporter ? 2 : kind == ProbeKind::rstat ? 1 : 0.25};
}

struct HostConfig {
  std::string name;               // letters, digits, '.', '-', '_'; at most 63 bytes; unique
  std::optional<Url> public_url;  // where clients are sent; none: inside-only
  Url inside;                     // where probes, web checks and relays go
  std::string script;             // '/cgi-bin/mapserv'
  double weight = 1;              // 0 to 1000; 0 drains
  std::optional<double> cores;    // believed until a report says better
  ProbeKind probe = ProbeKind::loadprobe;
  std::uint16_t probe_port = 9719;  // of the kind, unless set; 0 for rstat asks the port mapper
  bool backup = false;
};

// What becomes of the clients that belong to a draining host.
enum class DrainSticky : std::uint8_t {
  keep,  // they stay until their entries expire, which are no longer renewed
  move,  // they go elsewhere at once
};

enum class Mode : std::uint8_t { automatic, redirect, relay };
std::string_view name_of(Mode mode);  // as in the file: 'auto'

// What a class of requests gets: `by_default` is what plan_for() (reply.h) makes of the mode.
enum class Answer : std::uint8_t { by_default, redirect, redirect_307, relay, accel };

struct ProbeConfig {
  base::Seconds timeout{0.5};
  base::Seconds web_interval{1};
  base::Seconds web_timeout{1};
  std::string web_path;  // "": TCP connect; '/...': an HTTP GET that must answer below 500
  // Of one kind; `interval` and `expire` not set in the file have the kind's defaults.
  base::Seconds interval_of(ProbeKind kind) const { return interval ? *interval : usual_interval(kind); }
  base::Seconds expire_of(ProbeKind kind) const {
    constexpr base::Seconds kLeast{2};
    return expire ? *expire : std::max(3 * interval_of(kind), kLeast);
  }
  std::optional<base::Seconds> interval, expire;
};

// Whether a client stays with its host, and by what it is known again.
enum class Sticky : std::uint8_t {
  none,
  client,       // by its address
  client_wild,  // likewise, over all configurations that name the same hosts
  cookie,       // by a cookie
};
std::string_view name_of(Sticky kind);  // as in the file: 'client-wild'

struct StickyConfig {
  Sticky kind = Sticky::none;
  base::Seconds timeout{60};  // since the client's last request
  std::string key;            // for cookies; may be ""
  // Filled in by fill_in_sticky() (sticky.h).
  std::vector<std::string> tokens;           // cookie: by host, what names it
  std::vector<std::size_t> by_name, places;  // client_wild: the hosts in the order of their names, and its inverse
  std::uint64_t names = 0;                   // client_wild: fingerprint of the set of names
};
// Whether clients are known by their addresses.
constexpr bool is_by_address(Sticky kind) { return kind == Sticky::client || kind == Sticky::client_wild; }

// The host that is the balancer's own machine, and where this machine's web server has mapserv.
struct LocalHost {
  std::size_t host = 0;  // index in Config::hosts
  std::string path;      // '/cgi-bin/mapserv.real'
};

// For the program that relays.
struct RelayConfig {
  base::Seconds connect_timeout{2};                        // TCP and TLS
  base::Seconds response_timeout{120};                     // from the request sent to the first byte of the answer
  base::Seconds stall_timeout{30};                         // without a byte either way once the answer has begun
  std::uint64_t max_body_bytes = std::uint64_t{64} << 20;  // of a client's request; more is answered by 413
  std::string spool_dir = "/var/tmp";                      // for bodies of more than 1 MB
  std::string ca_file;                                     // PEM, for hosts on https; "": the system's
  bool verify = true;                                      // certificates of hosts on https
};

struct Config {
  std::string file;               // as it was named
  std::uint64_t fingerprint = 0;  // of the whole text
  std::optional<Url> public_url;  // with its script as path
  std::string script = "/cgi-bin/mapserv";
  std::vector<HostConfig> hosts;
  Mode mode = Mode::automatic;
  std::array<Answer, kClasses> answers{};  // by Class
  std::vector<std::string> private_cookies{"PHPSESSID", "JSESSIONID", "ASP.NET_SessionId"};
  std::vector<std::string> artifact_prefixes;
  std::vector<base::Cidr> trusted_proxies;
  bool allow_downgrade = false;
  std::uint64_t long_bytes = 3500;  // a longer Location makes class long
  bool onlineresource_set = false;
  std::string cors_origin = "*";  // "": no CORS headers
  bool host_header = true;        // X-Balance-Host
  double panic = 0.5;             // fraction of the probed serving hosts that are silent; 0: never
  unsigned peers = 1;
  StickyConfig sticky;
  std::optional<LocalHost> local;
  unsigned backup_below = 1;  // backups serve too while fewer others are usable
  DrainSticky drain_sticky = DrainSticky::keep;
  base::Seconds drain_wait{30};  // how long requests to a host without a probe may take
  std::string state_dir;         // "": /run/balance, or /tmp/balance-UID where that cannot be made
  std::string keep_dir;          // of what was set by hand; "": as hand_file.h says
  unsigned max_connections = 512;
  ProbeConfig probe;
  RelayConfig relay;

  bool weights_count() const;  // the weights above 0 are not all equal
  // The same, found out by parse_config(): every request asks, and a large pool is long to walk.
  std::optional<bool> weights_differ;
  std::size_t longest_base = 0;  // bytes of the longest public URL with its script
};

// Reads a configuration. The error lists every fault, one a line, with file:line in front.
base::Result<Config> parse_config(std::string_view text, const std::string& file);

// Every key that a configuration may have, 'probe.interval' where it stands in a section.
std::vector<std::string_view> known_keys();

// What is no fault of form but hardly meant: one finished sentence each, for `balancectl check`.
std::vector<std::string> warnings(const Config& config);

// Whether a host's scheme, authority and script are those of `self` (names compared, default ports removed): a loop.
bool is_loop(const HostConfig& host, const Url& self);

}  // namespace balance
