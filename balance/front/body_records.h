// SPDX-License-Identifier: MIT
// The body of a FastCGI request, record by record from its connection. libfcgi does not get to see it: what a length
// field or a management record in it says could end the process (see screen.h).
// Floor 3. Used by one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>

#include "loadprobe/base/result.h"

namespace balance {

class BodyRecords {
 public:
  static constexpr std::size_t kHeaderBytes = 8;
  // As recv(2): how many bytes, 0 at the connection's end, -1 with errno; EAGAIN says that they come too slowly.
  using Receive = std::function<ssize_t(std::span<char> to)>;
  // Of the first STDIN record the header was taken off the connection already; it says whose the body is.
  BodyRecords(Receive receive, std::span<const char, kHeaderBytes> first_header);

  // Up to `to.size()` bytes (at least 1), 0 at the end of the body. An error: the connection ended or is too slow, the
  // web server aborts the request, or a record that does not belong here; then nothing more can be read.
  base::Result<std::size_t> read(std::span<char> to);

  // The end was read: what follows on the connection is the next request.
  bool has_ended() const { return state_ == State::ended; }

 private:
  base::Status read_header();
  base::Status understand(std::span<const char, kHeaderBytes> header);
  base::Status skip_padding();
  base::Status receive_all(std::span<char> to);

  enum class State { within, ended, broken } state_ = State::within;
  const Receive receive_;
  const unsigned request_id_;
  std::size_t content_left_ = 0, padding_left_ = 0;
};

}  // namespace balance
