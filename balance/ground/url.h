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
  std::string host;  // lower case; an IPv6 literal without its brackets
  std::uint16_t port = 80;
  std::string path;  // "" or '/...' as given, without a '/' at the end

  friend bool operator==(const Url&, const Url&) = default;
};

// Scheme http or https, host a DNS name, an IPv4 address or a bracketed IPv6 address without a zone id; a port 1 to
// 65535; a path without query, fragment, user name, controls or spaces. The error says what was found and wanted.
base::Result<Url> parse_url(std::string_view text);

// 'pinchot.example.org:8080', '[2001:db8::7]'; the default port of the scheme is left out (RFC 3986 3.2.2, 6.2.3).
std::string authority(const Url& url);
// 'http://pinchot.example.org:8080' and the path.
std::string to_text(const Url& url);

// Percent-encodes only the bytes that may not stand in a URI in a header (RFC 3986 2: controls, space, DEL, bytes above
// 0x7E, and "<>\^`{|} and #, which would begin a fragment); every other byte, '%' included, stays as it is, nothing is
// decoded.
std::string safe_in_header(std::string_view text);

}  // namespace balance
