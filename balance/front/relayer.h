// SPDX-License-Identifier: MIT
// Where the front hands a request over to whoever relays. The program that only redirects has nobody.
// Floor 3. Any thread.
#pragma once

#include <optional>
#include <string>

#include "balance/front/exchange.h"
#include "balance/ground/config.h"
#include "balance/ground/request.h"
#include "balance/pool/decision.h"
#include "balance/table/table.h"

namespace balance {

// Everything belongs to the caller and stays for the call, however long that takes.
struct RelayJob {
  Exchange& exchange;
  const RawRequest& raw;
  Request& request;  // its body may tell more of it
  const Config& config;
  Table* table = nullptr;            // null: there is none
  std::optional<Decision> decision;  // made already, and told to the table: is_relay(*decision)
  Draw draw;
  std::vector<ByHand> kept = {};  // without a table: what was set by hand, by host
  Table* clients = nullptr;       // of sticky = client-wild; null: none
};

class Relayer {
 public:
  Relayer() = default;
  Relayer(const Relayer&) = delete;
  Relayer& operator=(const Relayer&) = delete;
  virtual ~Relayer() = default;

  // Answers the request, whatever becomes of it.
  virtual void relay(RelayJob job) = 0;

  // From now on the table at `path` is the one that jobs bring.
  virtual void use_table(const std::string& path, const TableShape& shape) = 0;
};

}  // namespace balance
