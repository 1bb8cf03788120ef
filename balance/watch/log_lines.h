// SPDX-License-Identifier: MIT
// What poolwatch has to say, as lines of its log. Floor 3. Any thread.
#pragma once

#include <vector>

#include "balance/ground/config.h"
#include "balance/table/hand_files.h"
#include "balance/watch/watcher.h"
#include "loadprobe/base/result.h"

namespace balance {

// One line for each fault of a configuration that is not taken.
void log_faults(const base::Error& faults);
void log_notices(const std::vector<Notice>& notices);
// Adds end and reason to what was set by hand: the table tells at once that it was, but not why; the file, which was
// written before, does.
void add_reasons(std::vector<Notice>& notices, const HandFiles& files);
// What in the file of what was set by hand is not understood, or is of no host.
void log_troubles(const Kept& kept, const Config& config);

}  // namespace balance
