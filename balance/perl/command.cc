// SPDX-License-Identifier: MIT
#include "balance/perl/command.h"

#include <cstddef>
#include <ostream>

#include "balance/perl/conf.h"
#include "balance/perl/pool.h"
#include "balance/perl/script.h"
#include "loadprobe/base/file.h"
#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

// The script of 1999 had 2 kB.
constexpr std::size_t kMostFileBytes = std::size_t{128} << 10;

constexpr char kUsage[] =
    "usage: balancectl import FILE\n"
    "Reads a balance.pl, as text, and prints the balance.conf that does the same:\n"
    "  balancectl import /usr/lib/cgi-bin/balance.pl > balance.conf\n"
    "What it is not sure of it says on standard error and in comments.\n";

}  // namespace

int import_command(std::span<const std::string> arguments, std::ostream& out, std::ostream& err) {
  constexpr int kFine = 0, kFailed = 1, kBadUsage = 2;
  if (arguments.size() == 1 && (arguments.front() == "--help" || arguments.front() == "-h")) {
    out << kUsage;
    return kFine;
  }
  const std::size_t first = !arguments.empty() && arguments.front() == "--" ? 1 : 0;
  if (arguments.size() != first + 1 || (first == 0 && arguments.front().starts_with('-'))) {
    err << "balancectl: import takes one file\n" << kUsage;
    return kBadUsage;
  }
  const std::string& file = arguments[first];
  const base::Result<std::string> text = base::read_file(file, kMostFileBytes);
  if (!text) {
    err << "balancectl: " << text.error().what << "\n";
    return kFailed;
  }
  const Imported made = imported(pool_of(script_of(*text)), file);
  out << made.conf;
  for (const std::string& doubt : made.doubts) err << doubt << "\n";
  return made.doubts.empty() ? kFine : kFailed;
}

}  // namespace balance::perl
