// SPDX-License-Identifier: MIT
// Between the web server and us: CGI (RFC 3875) once, or FastCGI until told to stop. All of libfcgi is behind here.
// Floor 3. One call of either a process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "balance/front/exchange.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

// Answers one request. Called by several threads at a time; must not throw.
using Respond = std::function<void(Exchange&)>;

// Whether descriptor 0 is a listening socket, as FastCGI web servers hand it over; else this is CGI.
bool is_fastcgi();

// Answers the one request that this process was started for: `variables` is its environment, the body comes on standard
// input, the answer goes to standard output. Takes what `respond` left of the body and forgets it: Apache's mod_cgid
// hands over one socket as both, and loses an answer behind which the socket is closed with bytes unread.
base::Status serve_cgi(const char* const* variables, const Respond& respond);

struct FastCgi {
  int listening = 0;                       // stays the caller's
  std::size_t most_connections = 512;      // at a time; more wait in the listen queue
  base::Seconds request_timeout{30};       // without a byte from the web server (see arrival.h), or taken by it
  std::vector<base::Address> web_servers;  // who may connect by TCP; none: everybody
  base::Seconds finish_within{5};          // for the busy connections, once told to stop
  std::function<void()> look_again;        // called on SIGHUP
  bool all_wait = false;  // every request waits for a host, as configured at the start: see Crew::Limits
};

// The addresses in FCGI_WEB_SERVER_ADDRS (FastCGI Specification 1.0, 3.2): '127.0.0.1,192.0.2.1'; null or "": none.
base::Result<std::vector<base::Address>> web_servers_of(const char* list);

// Keeps the signals that serve_fastcgi() waits for until it does so, instead of dying of them. Call it before anybody
// can know that this process serves, and before threads start.
void hold_signals();

// Serves until SIGTERM, SIGINT or SIGUSR1, then finishes what it has. The calling thread must be the only one. An
// error: the listening socket broke, or no thread could be started. After it only _exit(2) may follow: threads that did
// not finish in time still use what `respond` uses.
base::Status serve_fastcgi(const FastCgi& how, const Respond& respond);

}  // namespace balance
