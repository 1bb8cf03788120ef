// SPDX-License-Identifier: MIT
// balancectl import: a balance.pl in, a balance.conf out. The script is read as text, never run. Floor 3.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace balance::perl {

// `arguments` are those behind the word 'import'. The configuration goes to `out`, doubts and errors to `err`. Returns
// the exit status: 0 all was understood, 1 something has to be looked at, or the file cannot be read; 2 bad usage.
int import_command(std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace balance::perl
