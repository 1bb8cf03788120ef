// SPDX-License-Identifier: MIT
// Many small HTTP GETs at once over kept connections: libcurl's multi interface, one handle a slot, used again and
// again; all that poolwatch knows of libcurl. Proxies of the environment, redirects, cookies and all protocols but http
// and https are out; a name is never looked up here, its addresses come with the question.
// Floor 3. Used by one thread.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "balance/ground/config.h"
#include "balance/ground/url.h"
#include "balance/pool/belief.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

inline constexpr std::size_t kMostAnswerBytes = std::size_t{256} << 10;
inline constexpr std::size_t kFirstBytes = 4096;

struct HttpQuestion {
  Url server;                            // its path is not used
  std::string target;                    // '/metrics?balancer=...'
  std::vector<base::Address> addresses;  // of server.host; at least one
  base::Seconds timeout{0.5};            // for all of it
  // `beginning`: of the body the first kFirstBytes are kept, and one longer than kMostAnswerBytes is no fault.
  enum class Want : std::uint8_t { all, beginning } want = Want::all;
};

struct HttpAnswer {
  unsigned status = 0;
  std::string type;  // Content-Type; "" without one
  std::string body;
};

struct HttpOutcome {
  std::size_t slot = 0;
  std::variant<ProbeFailure, HttpAnswer> what;
};

class HttpClient {
 public:
  // `slots`: questions that may be under way at once; `trust`: who vouches for https hosts (ca_file, verify).
  // The error names libcurl's reason.
  static base::Result<HttpClient> create(std::size_t slots, const RelayConfig& trust);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // REQUIRES: nothing under way in this slot.
  base::Status start(std::size_t slot, const HttpQuestion& question);

  // Waits until an answer moves on, one of `others` is ready (their revents are set) or the time is over.
  void wait(std::vector<pollfd>& others, base::Seconds most);

  // What has ended since the last call: an answer of any status, or what went wrong.
  std::vector<HttpOutcome> take();

 private:
  struct Curl;
  explicit HttpClient(std::unique_ptr<Curl> curl);
  std::unique_ptr<Curl> curl_;
};

}  // namespace balance
