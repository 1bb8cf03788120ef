// SPDX-License-Identifier: MIT
// The head of a FastCGI request as it came over the wire, looked at before libfcgi is let near it: libfcgi 2.4.2
// allocates what a length field asks for and asserts that it got it, so a field that says 2 GB ends the process; and it
// writes the answer to a management record into 64 bytes however many values were asked.
// Floor 3 by its place, but a pure function; any thread. (FastCGI Specification 1.0, sections 3.3, 3.4, 5.1 to 5.3.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace balance {

enum class Screened : std::uint8_t {
  incomplete,    // so far nothing is wrong
  without_body,  // BEGIN_REQUEST, all PARAMS, and the empty STDIN: nothing else will come
  with_body,     // the same, but STDIN has content
  refused,       // no request that a web server would send
};

// A request of a responder: records of one request id, in order, names and values that fill the PARAMS stream exactly.
// `bytes` are all that came since the last request ended. Bytes after the first STDIN header are not looked at.
Screened screen(std::string_view bytes);

// Where a head ends that comes in pieces: behind its first STDIN header, or whatever stands there instead.
class HeadExtent {
 public:
  // How many bytes the head has at the least, so far as `bytes` tell; as many as there are, or fewer, once it is whole.
  // REQUIRES: `bytes` begin with those of the call before.
  std::size_t at_least(std::string_view bytes);

 private:
  std::size_t record_ = 0;  // where the last record begins that is known
};

}  // namespace balance
