// SPDX-License-Identifier: MIT
// Why a request would go where it would go: the same pure line that `balance` answers with, told step by step. Nothing
// is dispatched. Floor 3 for reading the table; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balance/ctl/view.h"
#include "balance/ground/config.h"
#include "balance/pool/draw.h"
#include "balance/table/table.h"
#include "loadprobe/base/result.h"

namespace balance {

// A request as an administrator types it.
struct Inquiry {
  std::string query;  // 'map=WORLD&mode=map', or a whole URL, which fills in https, host and path_info too
  std::string method = "GET";
  std::string host;  // as the client names the balancer; "": that of public-url, else 'localhost'
  std::string path_info;
  std::string client = "127.0.0.1";
  std::string cookie;
  std::string origin;
  bool https = false;
  bool with_credentials = false;  // Authorization
};

struct Explanation {
  std::string text;
  int status = 0;  // that the client would get; 200 for a relay
};

// `table` null: as `balance` without one; then `kept` is what was set by hand, by host. `clients`: of sticky =
// client-wild, may be null. Errors (Fault::usage): an inquiry that is no request. `by_hand`: what was set by hand, as
// the file has it.
base::Result<Explanation> explain(const Inquiry& inquiry, const Config& config, const Table* table,
                                  const HandView& by_hand, const std::vector<ByHand>& kept, Instant now, Draw draw,
                                  const Table* clients = nullptr);
inline base::Result<Explanation> explain(const Inquiry& inquiry, const Config& config, const Table* table, Instant now,
                                         Draw draw) {
  return explain(inquiry, config, table, HandView{}, {}, now, draw);
}

}  // namespace balance
