// SPDX-License-Identifier: MIT
// A pool out of a script as a balance.conf. Floor 1: pure functions.
#pragma once

#include <string>

#include "balance/perl/pool.h"

namespace balance::perl {

struct Imported {
  std::string conf;                 // the whole text; every remark stands in it, as a comment
  std::vector<std::string> doubts;  // 'FILE:LINE: found, wanted': what a person has to look at
};
// `file` is how the script is named in remarks. Whatever the script was, `conf` is read by parse_config() unless no
// host was found; what that would refuse is a comment and a doubt.
Imported imported(const Pool& pool, const std::string& file);

}  // namespace balance::perl
