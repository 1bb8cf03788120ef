// SPDX-License-Identifier: MIT
// Whatever a host answers to a probe, it becomes a report of numbers in their ranges and printable words, or an error.
#include <cmath>

#include "loadprobe/report.h"
#include "tests/fuzz/fuzz.h"

namespace {

void in_range(const std::optional<double>& value, double most) {
  if (value) fuzz::promise(std::isfinite(*value) && *value >= 0 && *value <= most, "numbers are in their ranges");
}

void printable(const std::string& text) {
  fuzz::promise(text.size() <= 200, "words are short");
  for (const char c : text)
    fuzz::promise(static_cast<unsigned char>(c) >= ' ' && c != '\x7f', "words have no controls");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto report = loadprobe::parse_report(fuzz::text_of(bytes, size));
  if (!report) {
    fuzz::promise(!report.error().what.empty() && report.error().what.size() < 1000, "an error is one sentence");
    return 0;
  }
  for (const auto& tasks :
       {report->load1, report->load5, report->load15, report->running, report->waiting, report->requests}) {
    in_range(tasks, 1e6);
  }
  in_range(report->cores, 65536);
  for (const auto& seconds : {report->cpu_seconds, report->pressure, report->boot_time, report->start_time}) {
    in_range(seconds, 1e11);
  }
  in_range(report->completed, 9.3e18);
  printable(report->reason);
  printable(report->version);
  fuzz::promise(report->load1 || report->running, "a report says how busy the host is now");
  return 0;
}
