// SPDX-License-Identifier: MIT
// The head of a host's answer: read strictly, line by line, and turned into what the web server's gateway gets for it.
// Floor 1: values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/ground/config.h"
#include "balance/ground/reply.h"
#include "balance/ground/request.h"
#include "loadprobe/base/result.h"

namespace balance {

struct HostHead {
  int status = 0;                                            // 100 to 599; 1xx heads are followed by another one
  std::string reason;                                        // of the status line, printable; may be ""
  std::vector<std::pair<std::string, std::string>> headers;  // as they came, in order; values trimmed
  std::optional<std::uint64_t> content_length;               // only where it can be trusted: all agree, no chunks

  // The first header of this name (any case), or "".
  std::string_view find(std::string_view name) const;
};

// Takes the lines of a head one by one, with or without their CR LF, the empty line too.
class HeadReader {
 public:
  static constexpr std::size_t kMostHeaders = 200;
  static constexpr std::size_t kMostBytes = 65536;

  // Errors (Fault::input; then nothing more is taken): no status line, a name that is no token, white space before the
  // colon, a folded line, a control character, lengths that differ, more than kMostHeaders or kMostBytes.
  base::Status add(std::string_view line);
  // The empty line came: head() is whole. A line after it begins the next head.
  bool is_whole() const { return is_whole_; }
  // Whether this head is an interim one (1xx): another follows.
  bool is_interim() const { return is_whole_ && head_.status < 200; }
  const HostHead& head() const { return head_; }

 private:
  base::Status add_status(std::string_view line);
  base::Status add_header(std::string_view line);
  base::Status finish();
  HostHead head_;
  std::size_t bytes_ = 0;
  bool has_begun_ = false, is_whole_ = false, is_broken_ = false;
};

// The head for the client, without a body: status and headers as the host sent them, a 3xx with its Location untouched;
// without hop-by-hop headers, those that Connection names, and those by which a web server takes orders (Status,
// X-Accel-*, X-Sendfile, X-LIGHTTPD-*); Content-Length only where it can be trusted. CORS headers come in where
// configured and absent, X-Balance-Host where configured. REQUIRES: head.status is 200 or more.
Reply relay_reply(const HostHead& head, const HostConfig& host, const Config& config);

}  // namespace balance
