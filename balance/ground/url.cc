// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/url.h"

#include <algorithm>
#include <array>
#include <optional>

#include "loadprobe/base/network.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using base::Error;
using base::Fault;
using base::Result;

constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr std::size_t kLongestName = 253;  // RFC 1035 2.3.4, without the dot at the end
constexpr std::size_t kLongestLabel = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char letter = base::lower(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

void append_code(std::string& out, unsigned char byte) {
  out.append(1, '%').append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
}

// Looked up for every byte of every request.
constexpr std::array<bool, 256> kMayStandInUri = [] {
  constexpr std::string_view kForbidden = "\"<>\\^`{|}#";
  std::array<bool, 256> may{};
  for (unsigned byte = 0x21; byte < 0x7F; ++byte) {
    may[byte] = kForbidden.find(static_cast<char>(byte)) == std::string_view::npos;
  }
  return may;
}();

bool may_stand_in_uri(char c) { return kMayStandInUri[static_cast<unsigned char>(c)]; }

// Of a segment of a path (RFC 3986 3.3).
bool may_stand_in_segment(char c) {
  constexpr std::string_view kMarks = "-._~!$&'()*+,;=:@";
  return is_letter(c) || is_digit(c) || kMarks.find(c) != std::string_view::npos;
}

bool is_label(std::string_view label) {
  if (label.empty() || label.size() > kLongestLabel || label.front() == '-' || label.back() == '-') return false;
  for (const char c : label) {
    if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_') return false;
  }
  return true;
}

bool are_labels(std::string_view name) {
  for (;;) {
    const std::size_t end = name.find('.');
    if (!is_label(name.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 1);
  }
}

// Programs read 'a.10' and '0x7f000001' as (odd) IPv4 addresses: only true ones are taken.
bool looks_like_ipv4(std::string_view last_label) {
  return std::ranges::all_of(last_label, is_digit) || base::same_ignoring_case(last_label.substr(0, 2), "0x");
}

Result<std::string> parse_name(std::string_view name) {
  const auto fault = [name](std::string_view wanted) {
    return Error{Fault::usage, "host is '" + base::escaped(name) + "'; wanted " + std::string(wanted)};
  };
  const std::string_view bare = name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
  if (bare.size() > kLongestName || !are_labels(bare)) {
    return fault("a host name, an IPv4 address, or an IPv6 address in []");
  }
  if (!looks_like_ipv4(bare.substr(bare.rfind('.') + 1))) return base::lower(name);
  const std::optional<base::Address> address = base::parse_address(name);
  if (!address) return fault("an IPv4 address of four numbers 0 to 255, or a name");
  return std::string(name);
}

Result<std::string> parse_ipv6(std::string_view literal) {
  const std::string found = "host is '[" + base::escaped(literal) + "]'; ";
  if (literal.find('%') != std::string_view::npos) {
    return Error{Fault::usage, found + "wanted no zone id: it means nothing to other machines"};
  }
  const std::optional<base::Address> address = base::parse_address(literal);
  if (!address || literal.find(':') == std::string_view::npos) {
    return Error{Fault::usage, found + "wanted an IPv6 address, such as [2001:db8::7]"};
  }
  return address->is_ipv4() ? base::lower(literal) : base::to_text(*address);
}

struct Authority {
  std::string host;
  std::optional<std::string_view> port;
};

Result<Authority> split_authority(std::string_view text) {
  if (text.find('@') != std::string_view::npos) {
    return Error{Fault::usage, "there is a user name in '" + base::escaped(text) + "'; wanted HOST or HOST:PORT"};
  }
  const bool in_brackets = text.starts_with('[');
  const std::size_t host_end = in_brackets ? text.find(']') : std::min(text.find(':'), text.size());
  if (host_end == std::string_view::npos) {
    return Error{Fault::usage, "host is '" + base::escaped(text) + "'; wanted a ']' behind the IPv6 address"};
  }
  const std::string_view rest = text.substr(host_end + (in_brackets ? 1 : 0));
  if (!in_brackets && rest.find(':', 1) != std::string_view::npos) {
    return Error{Fault::usage, "host is '" + base::escaped(text) + "'; wanted an IPv6 address in []"};
  }
  if (!rest.empty() && rest.front() != ':') {
    return Error{Fault::usage, "found '" + base::escaped(rest) + "' behind ']'; wanted ':PORT'"};
  }
  Result<std::string> host =
      in_brackets ? parse_ipv6(text.substr(1, host_end - 1)) : parse_name(text.substr(0, host_end));
  if (!host) return std::move(host).error();
  return Authority{*std::move(host), rest.empty() ? std::nullopt : std::optional(rest.substr(1))};
}

Result<std::uint16_t> parse_port(std::string_view text) {
  const std::optional<std::uint64_t> port = base::whole_number(text);
  if (port && *port >= 1 && *port <= 65535) return static_cast<std::uint16_t>(*port);
  return Error{Fault::usage, "port is '" + base::escaped(text) + "'; wanted 1 to 65535"};
}

Result<Scheme> parse_scheme(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return Error{Fault::usage, "found no scheme; wanted http:// or https://"};
  const std::string scheme = base::lower(text.substr(0, end));
  if (scheme == "http") return Scheme::http;
  if (scheme == "https") return Scheme::https;
  return Error{Fault::usage, "scheme is '" + base::escaped(text.substr(0, end)) + "'; wanted http or https"};
}

std::uint16_t default_port(Scheme scheme) { return scheme == Scheme::https ? 443 : 80; }

Result<Url> parse(std::string_view text) {
  const Result<Scheme> scheme = parse_scheme(text);
  if (!scheme) return scheme.error();
  const std::string_view rest = text.substr(text.find("://") + 3);
  const std::size_t end = std::min(rest.find_first_of("/?#\\"), rest.size());
  const Result<Authority> authority = split_authority(rest.substr(0, end));
  if (!authority) return authority.error();
  Url url{*scheme, authority->host, default_port(*scheme), ""};
  if (authority->port) {
    const Result<std::uint16_t> port = parse_port(*authority->port);
    if (!port) return port.error();
    url.port = *port;
  }
  std::string_view path = rest.substr(end);
  if (path.empty()) return url;
  if (std::string fault = fault_of_path(path); !fault.empty()) return Error{Fault::usage, std::move(fault)};
  while (path.ends_with('/')) path.remove_suffix(1);
  url.path = path;
  return url;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  Result<Url> url = parse(text);
  if (url) return url;
  return std::move(url).error().at("'" + base::escaped(text) + "'");
}

std::string fault_of_path(std::string_view path) {
  const auto fault = [path](std::string_view wanted) {
    return "path is '" + base::escaped(path) + "'; wanted " + std::string(wanted);
  };
  if (!path.starts_with('/')) return fault("one that begins with '/'");
  if (path.find_first_of("?#") != std::string_view::npos) return fault("no query and no fragment");
  if (!std::ranges::all_of(path, may_stand_in_uri)) return fault("only bytes that may stand in a URL");
  for (std::size_t at = path.find('%'); at != std::string_view::npos; at = path.find('%', at + 1)) {
    if (byte_of_code(path, at) < 0) return fault("two hexadecimal digits behind every '%'");
  }
  const std::string decoded = percent_decoded(path);
  for (const std::string_view segment : base::split(decoded, '/')) {
    if (segment == "." || segment == "..") return fault("no '.' or '..' in it");
  }
  return "";
}

std::string authority(const Url& url) {
  std::string out = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  if (url.port != default_port(url.scheme)) out.append(1, ':').append(std::to_string(url.port));
  return out;
}

std::string origin_of(const Url& url) {
  return std::string(url.scheme == Scheme::https ? "https://" : "http://").append(authority(url));
}

std::string to_text(const Url& url) { return origin_of(url) + url.path; }

bool same_server(const Url& a, const Url& b) {
  const auto bare = [](std::string_view name) { return name.ends_with('.') ? name.substr(0, name.size() - 1) : name; };
  return a.scheme == b.scheme && a.port == b.port && bare(a.host) == bare(b.host);
}

std::string safe_in_header(std::string_view text) {
  if (std::ranges::all_of(text, may_stand_in_uri)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (may_stand_in_uri(c)) {
      out += c;
    } else {
      append_code(out, static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string encoded_path(std::string_view decoded) {
  std::string out;
  for (const char c : decoded) {
    if (c == '/' || may_stand_in_segment(c)) {
      out += c;
    } else {
      append_code(out, static_cast<unsigned char>(c));
    }
  }
  return out;
}

int byte_of_code(std::string_view text, std::size_t at) {
  if (at + 2 >= text.size() || text[at] != '%') return -1;
  const int high = hex_digit(text[at + 1]), low = hex_digit(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string percent_decoded(std::string_view text) {
  if (text.find('%') == std::string_view::npos) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const int byte = byte_of_code(text, at);
    out += byte < 0 ? text[at] : static_cast<char>(byte);
    at += byte < 0 ? 1 : 3;
  }
  return out;
}

bool climbs(std::string_view path) {
  std::string decoded = percent_decoded(path);
  std::ranges::replace(decoded, '\\', '/');
  const std::vector<std::string_view> segments = base::split(decoded, '/');
  return std::ranges::find(segments, "..") != segments.end();
}

}  // namespace balance
