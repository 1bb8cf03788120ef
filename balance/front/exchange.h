// SPDX-License-Identifier: MIT
// One request as the gateway hands it over: its variables, its body to read, and where the answer goes, piece by piece.
// Floor 3. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "loadprobe/base/result.h"

namespace balance {

class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  // From here on it may take long: what asks a host or a disk. Others are served meanwhile. As often as one likes.
  virtual void about_to_wait() {}

  // 'NAME=value' strings that end with a null pointer; valid as long as the exchange is.
  virtual const char* const* variables() const = 0;

  // Up to `to.size()` bytes (at least 1) of the client's body, 0 at its end. Waits for them. An error: the body breaks
  // off, or nothing came for the gateway's time-out.
  virtual base::Result<std::size_t> read_body(std::span<char> to) = 0;

  // The next piece of the answer, which begins with 'Status: ...' and the headers. Waits until it can be taken. An
  // error: nobody wants it any more.
  base::Status write(std::string_view piece) {
    has_begun_ = true;
    return put(piece);
  }
  bool has_begun() const { return has_begun_; }

  // The answer's end will not come. Whoever waits for it is to see that; nothing is written after it.
  virtual void break_off() = 0;

  // Whether this gateway can show a client that an answer broke off; where not, an answer should be whole before its
  // first byte is written.
  enum class Break : std::uint8_t {
    shows,
    shows_by_length,  // only if the answer has a Content-Length
    is_hidden,
  };
  virtual Break how_breaks_show() const = 0;

  // A descriptor that becomes readable when the web server has gone; -1: there is none, write() will tell.
  // REQUIRES: the body was read to its end.
  virtual int watched() = 0;
  // Looks at it, without waiting. REQUIRES: the same.
  virtual bool is_abandoned() = 0;

 private:
  virtual base::Status put(std::string_view piece) = 0;
  bool has_begun_ = false;
};

}  // namespace balance
