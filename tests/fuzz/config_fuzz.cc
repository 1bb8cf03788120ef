// SPDX-License-Identifier: MIT
// Whatever stands in a configuration, it is taken whole or every fault has its place. The first byte says whose it is.
#include <cmath>

#include "balance/ground/config.h"
#include "loadprobe/base/text.h"
#include "loadprobe/probe_config.h"
#include "tests/fuzz/fuzz.h"

namespace {

void check_faults(const std::string& what) {
  fuzz::promise(!what.empty(), "faults are named");
  for (const std::string_view line : base::split(what, '\n')) {
    fuzz::promise(line.starts_with("x.conf"), "every fault begins with its file");
    for (const char c : line) fuzz::promise(static_cast<unsigned char>(c) >= ' ', "faults can be printed");
  }
}

void check_host(const balance::HostConfig& host) {
  fuzz::promise(!host.name.empty() && host.name.size() <= 63, "hosts have names");
  fuzz::promise(std::isfinite(host.weight) && host.weight >= 0 && host.weight <= 1000, "weights are in their range");
  fuzz::promise(host.script.starts_with('/'), "scripts are paths");
  for (const char c : host.script) fuzz::promise(c > ' ' && c != '\x7f', "scripts can stand in a Location");
  fuzz::promise(!host.inside.host.empty(), "hosts can be reached");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(bytes + 1, size - 1);
  if (bytes[0] == 'p') {
    const auto config = loadprobe::parse_config(text, "x.conf");
    if (!config) check_faults(config.error().what);
    return 0;
  }
  const auto config = balance::parse_config(text, "x.conf");
  if (!config) {
    check_faults(config.error().what);
    return 0;
  }
  fuzz::promise(!config->hosts.empty(), "a configuration has a host");
  for (const balance::HostConfig& host : config->hosts) check_host(host);
  for (const std::string& warning : balance::warnings(*config))
    fuzz::promise(!warning.empty(), "warnings say something");
  return 0;
}
