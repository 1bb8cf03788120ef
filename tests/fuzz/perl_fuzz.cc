// SPDX-License-Identifier: MIT
// Whatever a script says, the configuration made of it can be read if it has a host, and every doubt has its place.
#include "balance/ground/config.h"
#include "balance/perl/conf.h"
#include "loadprobe/base/text.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::size_t kMost = 20000;
  if (size > kMost) return 0;
  const balance::perl::Imported made =
      balance::perl::imported(balance::perl::pool_of(balance::perl::script_of(fuzz::text_of(bytes, size))), "x.pl");
  bool has_host = false;
  for (const std::string_view line : base::split(made.conf, '\n')) {
    has_host = has_host || line.starts_with("host = ");
    for (const char c : line) fuzz::promise(static_cast<unsigned char>(c) >= ' ', "every line can be printed");
  }
  fuzz::promise(static_cast<bool>(balance::parse_config(made.conf, "x.conf")) == has_host, "what is made can be read");
  fuzz::promise(has_host || !made.doubts.empty(), "no host is a doubt");
  for (const std::string& doubt : made.doubts) fuzz::promise(doubt.starts_with("x.pl:"), "every doubt has its place");
  return 0;
}
