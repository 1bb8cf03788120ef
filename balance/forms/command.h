// SPDX-License-Identifier: MIT
// balancectl forms: brings old pages over to the balancer.
// Floor 3. Forks: call it while the process has one thread.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace balance::forms {

// `arguments` are those behind the word 'forms'. What was done, or the diff, goes to `out`; remarks and errors to
// `err`. Returns the exit status: 0 all is well (nothing to do too), 1 a file could not be read or written, or
// something was left alone because it cannot be told for sure, 2 bad usage.
int forms_command(std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace balance::forms
