// SPDX-License-Identifier: MIT
// The format in which a client can read what went wrong: an OGC client looks for an exception document of its service
// and version, a browser shows a page. Floor 1: pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace balance {

enum class Format : std::uint8_t {
  html,
  wms_1_1,  // and older
  wms_1_3,
  wfs_1_0,
  wfs_1_1,
  wfs_2_0,
  wcs_1_0,
  wcs_1_1,
  wcs_2_0,
  sos_1_0,
  json,     // exceptions=application/json of any service
  problem,  // OGC API: RFC 7807
};
inline constexpr std::size_t kFormats = 12;

// What a format is asked from. The texts are views: valid for the call.
struct Asked {
  std::string_view query = {};         // as it came
  std::string_view path_info = {};     // "" or '/...'
  std::string_view content_type = {};  // of a body, which is not looked into
};

// Without a version the newest that mapserv 8 speaks. exceptions=blank and inimage ask for a picture of the trouble;
// they get the document: a picture passes for the map, and clients would keep it.
Format asked_format(const Asked& asked);

}  // namespace balance
