// SPDX-License-Identifier: MIT
// The body of a FastCGI request, record by record from its connection. libfcgi does not get to see it: what a length
// field or a management record in it says could end the process (see screen.h).
// Floor 3. Used by one thread.
#pragma once

#include <cstddef>
#include <span>

#include "loadprobe/base/result.h"

namespace balance {

class BodyRecords {
 public:
  static constexpr std::size_t kHeaderBytes = 8;
  // Of the first STDIN record the header was taken off the `connection` (not owned) already; it says whose the body is.
  BodyRecords(int connection, std::span<const char, kHeaderBytes> first_header);

  // Up to `to.size()` bytes (at least 1), 0 at the end of the body. An error: the connection ended or fell silent, the
  // web server aborts the request, or a record that does not belong here; then nothing more can be read.
  base::Result<std::size_t> read(std::span<char> to);

  // The end was read: what follows on the connection is the next request.
  bool has_ended() const { return state_ == State::ended; }

 private:
  base::Status read_header();
  base::Status understand(std::span<const char, kHeaderBytes> header);
  base::Status skip_padding();
  base::Status receive(std::span<char> to);

  enum class State { within, ended, broken } state_ = State::within;
  const int connection_;
  const unsigned request_id_;
  std::size_t content_left_ = 0, padding_left_ = 0;
};

}  // namespace balance
