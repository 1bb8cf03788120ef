// SPDX-License-Identifier: MIT
// The classes of requests: the class decides between redirect and relay, since not every request survives a redirect.
// Floor 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace balance {

// In the order in which they are tried; the first that fits.
enum class Class : std::uint8_t {
  options,   // OPTIONS: a browser's preflight, answered here
  body,      // POST: a redirect with 302 would lose the body
  artifact,  // paths under artifact prefixes (IMAGEURL): they exist on one host only
  private_,  // credentials do not follow a change of host
  document,  // capabilities and the like: they name the server that wrote them
  long_,     // a Location too long for web servers
  cors,      // a page's script or canvas is to read the answer: it may not after a redirect, unless the host says so
  image,     // GetMap, mode=map, tile, legend ...
  data,      // GetFeature, GetCoverage, GetFeatureInfo ...
  page,      // mode=browse, queries, templates; no mode
};
inline constexpr std::size_t kClasses = 10;
std::string_view name_of(Class c);  // 'options', 'body', ... 'private', 'long'

}  // namespace balance
