// SPDX-License-Identifier: MIT
// One request to one host and its answer, streamed: libcurl is behind here. Proxies and cookies of the environment,
// redirects, decoding, HTTP/2 and every protocol but http and https are out.
// Floor 3. A Transfers is used by any thread, a transfer by the one that called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "balance/ground/relay_request.h"
#include "balance/ground/retry.h"
#include "balance/relay/body.h"
#include "loadprobe/base/result.h"

namespace balance {

// Who takes an answer as it comes. Its functions must not throw.
class Taker {
 public:
  Taker() = default;
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;
  virtual ~Taker() = default;
  enum class Then : std::uint8_t { go_on, stop };
  // A line of a head with its CR LF; the empty one too. Interim heads (1xx) come before the answer's.
  virtual Then take_line(std::string_view line) = 0;
  virtual Then take_body(std::string_view piece) = 0;
  // Nothing more is there at the moment: what was gathered may go on its way.
  virtual Then take_pause() = 0;
  // See Exchange.
  virtual int watched() = 0;
  virtual bool is_abandoned() = 0;
};

struct Transfer {
  enum class End : std::uint8_t {
    whole,
    no_connection,  // nothing of the request was sent
    timed_out,      // no first byte of an answer, or a stall
    broke_off,      // closed before the answer's end
    garbage,        // no HTTP answer
    stopped,        // by the taker
    abandoned,      // the client has gone
  } end = End::whole;
  std::string why;  // one phrase; "" for whole, stopped and abandoned
};

// Handles with kept connections to hosts, used again last in, first out.
class Transfers {
 public:
  // Call before threads start. The error names libcurl's reason.
  static base::Result<std::unique_ptr<Transfers>> create();
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Sends `request` (with `body` if it has one) and waits for the end. A request with a possible effect goes over a new
  // connection: over a kept one that the host is just closing it would have to be sent twice.
  Transfer run(const RelayRequest& request, const Body& body, Effect effect, const RelayConfig& config, Taker& taker);

 private:
  struct Handle;
  explicit Transfers(std::string authorities);
  std::unique_ptr<Handle> take(std::string_view server, const std::string& ca_file);
  void put_back(std::unique_ptr<Handle> handle);

  const std::string authorities_;  // the system's folder of them; "": libcurl knows where they are
  std::mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_;  // the one used last stands last
};

}  // namespace balance
