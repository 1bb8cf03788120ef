// SPDX-License-Identifier: MIT
// Which of a script's values are the pool: hosts, ports, domain, mapserv's path. By names, shapes and what they are
// used for in the URL that the script sends clients to; what is not sure is remarked. Floor 1: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balance/perl/script.h"

namespace balance::perl {

struct Remark {
  enum class Weight : std::uint8_t {
    note,   // for the reader: nothing is missing
    doubt,  // something was found that could not be told: what was found, what was wanted
  } weight = Weight::note;
  std::size_t line = 0;  // 0: of no line
  std::string what;
};

// One host as the script has it.
struct Member {
  std::string host;  // 'pinchot', 'pinchot.example.org', '10.0.0.1', '[2001:db8::1]'
  std::string scheme, script, weight, inside;
  std::string port;
  std::size_t line = 0;
};

struct Pool {
  std::string source;  // '@pool'
  std::vector<Member> members;
  std::string scheme = "http";
  std::string domain;  // without a dot in front
  std::string port;    // of who has none
  std::string script = "/cgi-bin/mapserv";
  std::string public_url;  // perhaps
  bool asks_rup = false;
  std::vector<Remark> remarks;  // by line
};

Pool pool_of(const Script& script);

}  // namespace balance::perl
