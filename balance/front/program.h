// SPDX-License-Identifier: MIT
// What `balance` and `balance-relay` have in common: the command line, and being a CGI or FastCGI program. Started by a
// web server their arguments mean nothing, since a query without '=' comes as an argument (RFC 3875 4.4).
// Floor 3. One call a process, from its main thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "balance/front/relayer.h"
#include "loadprobe/base/result.h"

namespace balance {

struct Program {
  std::string_view name;
  // Makes what relays; null: this program only redirects, and becomes balance-relay, if that is installed beside it,
  // where requests have to be relayed.
  base::Result<std::unique_ptr<Relayer>> (*make_relayer)() = nullptr;
};

// The exit status.
int run(const Program& program, char** argv);

}  // namespace balance
