// SPDX-License-Identifier: MIT
// The URL that a script sends its clients to, with holes where it puts host, domain and port.
// Floor 1: pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "balance/perl/values.h"

namespace balance::perl {

struct Target {
  bool is_url = false;
  bool host_is_variable = false;  // '$host...': then it is where clients go
  std::string scheme;             // "": a variable's
  std::string host;               // where it is none
  std::string domain;             // behind a variable host, without the dot
  std::string port;
  std::string path;           // without the query
  bool path_is_made = false;  // a variable is in it
  std::string text;           // the whole, variables as they are called
  std::size_t line = 0;
};
Target target_of(const Value& value);

}  // namespace balance::perl
