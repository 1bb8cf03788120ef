// SPDX-License-Identifier: MIT
// A decision that counts: chosen from what the table says, and told to the table.
// Floor 3 (the table is its only I/O). Any thread.
#pragma once

#include "balance/pool/decision.h"
#include "balance/table/table.h"

namespace balance {

// Chooses, counts the dispatch, takes the turn, and remembers who served this client's page. Where another process
// takes the turn first the choice is made anew, a bounded number of times. `table` null: by weight, and nothing is
// told.
Decision decide_and_dispatch(const Request& request, const Config& config, Table* table, Instant now, Draw& draw);

}  // namespace balance
