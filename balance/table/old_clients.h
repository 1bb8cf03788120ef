// SPDX-License-Identifier: MIT
// Takes away files of sticky = client-wild that were made for sets of hosts which nobody has any more: they would stay
// until the folder is emptied. Time comes in. Floor 3. Used by one thread of a poolwatch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/table/state_dir.h"
#include "loadprobe/base/time.h"

namespace balance {

class OldClients {
 public:
  // Twice the longest sticky-timeout: every entry in such a file expired long ago, whoever wrote it.
  static constexpr base::Seconds kSafeAge{2 * 86400.0};
  static constexpr base::Seconds kBetweenMarks{60}, kBetweenLooks{600};

  // Once a minute marks the file that this configuration uses, as every poolwatch does with its own. Every 10 minutes
  // looks for others that this user and this configuration have made, that nobody has marked for kSafeAge, nor since
  // the look before (the wall clock may have been set), and removes them. Gives the removed ones. REQUIRES: the caller
  // holds the configuration's lease.
  std::vector<std::string> turn(const StateFiles& files, const Config& config, base::Seconds wall, base::Instant now);

 private:
  using Marks = std::map<std::string, std::int64_t>;  // by path: nanoseconds since 1970

  base::Instant marked_ = base::kNever, looked_ = base::kNever;
  Marks seen_;
};

}  // namespace balance
