// SPDX-License-Identifier: MIT
// The head of a FastCGI request: everything before its body. It is screened before libfcgi reads it (screen.h).
// Floor 3. One thread a connection.
#pragma once

#include <cstdint>
#include <string>

#include "balance/front/crew.h"

namespace balance {

// How the next request begins.
struct Head {
  enum class What : std::uint8_t {
    nothing,  // nothing has come yet
    ended,    // there is no next one: the connection is to be closed
    refused,  // no request that a web server would send
    there,    // all that will come of it, and nothing else, is on the connection
    taken,    // `bytes` were taken off the connection, through the first STDIN header
  } what = What::ended;
  std::string bytes;
};

// Waits only for the rest of a head that has begun to come.
Head look_at_head(int connection, Crew::Seat& seat);

}  // namespace balance
