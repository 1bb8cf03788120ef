// SPDX-License-Identifier: MIT
// The gateway's own listening socket, for `--listen unix:PATH|ADDRESS:PORT`. Numeric only: no name is looked up.
// Floor 3. Call before threads start: the file mode of a UNIX socket is set by the umask.
#pragma once

#include <string>
#include <string_view>

#include "loadprobe/base/fd.h"
#include "loadprobe/base/result.h"

namespace balance {

struct Listener {
  base::Fd socket;
  std::string unix_path;        // "": TCP
  bool is_reachable_by_others;  // a TCP address other than loopback: whoever reaches it can forge requests
};

// A UNIX socket gets mode 0660; one that nobody listens on any more is replaced, a file of another kind never.
base::Result<Listener> listen_on(std::string_view where);

}  // namespace balance
