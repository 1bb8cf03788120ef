// SPDX-License-Identifier: MIT
// The base URL of a server, 'http://pinchot.example.org:8080', and the paths and queries put behind it.
// Floor 1: pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loadprobe/base/result.h"

namespace balance {

enum class Scheme : std::uint8_t { http, https };

struct Url {
  Scheme scheme = Scheme::http;
  std::string host;  // lower case; an IPv6 literal in its canonical form (RFC 5952) without its brackets
  std::uint16_t port = 80;
  std::string path;  // "" or '/...' as given, without a '/' at the end

  friend bool operator==(const Url&, const Url&) = default;
};

// Scheme http or https, host a DNS name, an IPv4 address or a bracketed IPv6 address without a zone id; a port 1 to
// 65535; a path without fault_of_path(). The error (Fault::usage) says what was found and wanted.
base::Result<Url> parse_url(std::string_view text);

// A path that may stand behind an authority: begins with '/', has no query, fragment, bare control, space or other byte
// that is not allowed in a URI, no broken percent code, no '.' or '..' segment. "" if so, else what is wrong with it.
std::string fault_of_path(std::string_view path);

// 'pinchot.example.org:8080', '[2001:db8::7]'; the default port of the scheme is left out (RFC 3986 3.2.2, 6.2.3).
std::string authority(const Url& url);
// 'http://pinchot.example.org:8080' without the path, and with it.
std::string origin_of(const Url& url);
std::string to_text(const Url& url);

// The same scheme, host and port, whatever the paths. A dot at the end of a DNS name makes no difference.
bool same_server(const Url& a, const Url& b);

// Percent-encodes only the bytes that may not stand in a URI in a header (RFC 3986 2: controls, space, DEL, bytes above
// 0x7E, and "<>\^`{|} and #, which would begin a fragment); every other byte, '%' included, stays as it is, nothing is
// decoded.
std::string safe_in_header(std::string_view text);

// Percent-encodes a decoded path, '%' and '?' included, '/' excepted: for paths of which the raw form is lost.
std::string encoded_path(std::string_view decoded);

// Every %XX of two hexadecimal digits as its byte; anything else as it is.
std::string percent_decoded(std::string_view text);

// Whether a path has a '..' segment once it is decoded; '\\' separates too, as servers on Windows have it. Where such a
// path leads from another script than the one it was written for is for nobody to guess.
bool climbs(std::string_view path);

// The byte that %XX at `at` stands for, or -1 if there is none.
int byte_of_code(std::string_view text, std::size_t at);

}  // namespace balance
