// SPDX-License-Identifier: MIT
// balance-relay: the same front as balance, and a relay behind it. Floor 4.
#include "balance/front/program.h"
#include "balance/relay/relay.h"

int main(int, char** argv) {
  return balance::run({.name = "balance-relay", .make_relayer = balance::make_relay}, argv);
}
