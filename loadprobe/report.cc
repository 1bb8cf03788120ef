// SPDX-License-Identifier: MIT
// Floor 1: a value and pure functions over text.
#include "loadprobe/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "loadprobe/base/text.h"
#include "loadprobe/exposition.h"

namespace loadprobe {
namespace {

using base::Error;
using base::Fault;
using base::Result;
using base::Status;

constexpr std::size_t kMostReasonBytes = 200;
constexpr std::size_t kMostVersionBytes = 40;
constexpr double kMostTasks = 1e6;
constexpr double kMostCores = 65536;
constexpr double kMostSeconds = 1e11;
constexpr double kMostCount = 9223372036854775808.0;

// The metrics that are one number without labels of ours.
struct Single {
  std::string_view name;
  std::optional<double> Report::*field;
  double most;
};
constexpr std::array<Single, 12> kSingles{{
    {"node_load1", &Report::load1, kMostTasks},
    {"node_load5", &Report::load5, kMostTasks},
    {"node_load15", &Report::load15, kMostTasks},
    {"node_procs_running", &Report::running, kMostTasks},
    {"node_boot_time_seconds", &Report::boot_time, kMostSeconds},
    {"node_pressure_cpu_waiting_seconds_total", &Report::pressure, kMostSeconds},
    {"loadprobe_cores", &Report::cores, kMostCores},
    {"loadprobe_requests_waiting", &Report::waiting, kMostTasks},
    {"loadprobe_map_processes_running", &Report::map_running, kMostTasks},
    {"loadprobe_requests_running", &Report::requests, kMostTasks},
    {"loadprobe_requests_completed_total", &Report::completed, kMostCount},
    {"loadprobe_start_time_seconds", &Report::start_time, kMostSeconds},
}};

Error refused(const MetricLine& line, std::string_view wanted) {
  return Error{Fault::input,
               std::string(line.name) + " is '" + base::escaped(line.value, 60) + "'; wanted " + std::string(wanted)};
}

Error twice(const MetricLine& line) { return Error{Fault::input, std::string(line.name) + " is given twice"}; }

Result<double> bounded(const MetricLine& line, double most) {
  const std::optional<double> value = base::number(line.value);
  if (value && *value >= 0 && *value <= most) return *value + 0.0;  // no negative zero
  return refused(line, "a number from 0 to " + base::to_text(most));
}

// What is told in several lines and put together at the end.
class Reading {
 public:
  Status take(const MetricLine& line) {
    for (const Single& single : kSingles) {
      if (line.name == single.name) return take_single(line, single);
    }
    if (line.name == "node_cpu_seconds_total") return take_cpu(line);
    if (line.name == "loadprobe_dispatches_total") return take_dispatches(line);
    if (line.name == "loadprobe_mapserver_up") return take_mapserver_up(line);
    if (line.name == "loadprobe_state") return take_state(line);
    if (line.name == "loadprobe_info") report_.version = base::printable(label(line, "version"), kMostVersionBytes);
    return base::ok();
  }

  Result<Report> finish() && {
    std::ranges::sort(cpu_lines_);
    if (std::ranges::adjacent_find(cpu_lines_) != cpu_lines_.end()) {
      return Error{Fault::input, "node_cpu_seconds_total is given twice with the same labels"};
    }
    std::ranges::sort(cpus_);
    const auto cpus = static_cast<double>(std::unique(cpus_.begin(), cpus_.end()) - cpus_.begin());
    if (!report_.cores && cpus > 0) report_.cores = std::min(cpus, kMostCores);
    if (report_.load1 || report_.running) return std::move(report_);
    return Error{Fault::input,
                 "found neither a load average of one minute nor the running tasks; wanted a page of loadprobe or "
                 "node_exporter"};
  }

 private:
  Status take_single(const MetricLine& line, const Single& single) {
    std::optional<double>& field = report_.*single.field;
    if (field) return twice(line);
    const Result<double> value = bounded(line, single.most);
    if (!value) return value.error();
    if (single.field == &Report::cores && *value == 0) return refused(line, "more than 0");
    field = *value;
    return base::ok();
  }

  Status take_cpu(const MetricLine& line) {
    const std::string_view cpu = label(line, "cpu"), mode = label(line, "mode");
    cpu_lines_.push_back(base::fingerprint(std::string(cpu).append("\n").append(mode)));
    if (const std::optional<std::uint64_t> number = base::whole_number(cpu)) cpus_.push_back(*number);
    const Result<double> seconds = bounded(line, kMostSeconds);
    if (!seconds) return seconds.error();
    if (mode == "idle" || mode == "iowait") return base::ok();
    report_.cpu_seconds = std::min(report_.cpu_seconds.value_or(0) + *seconds, kMostSeconds);
    return base::ok();
  }

  Status take_dispatches(const MetricLine& line) {
    if (report_.dispatches) return twice(line);
    if (const std::optional<std::uint64_t> exact = base::whole_number(line.value)) {
      if (*exact > static_cast<std::uint64_t>(kMostCount)) return refused(line, "at most 2^63");
      report_.dispatches = *exact;
      return base::ok();
    }
    const Result<double> rounded = bounded(line, kMostCount);  // whoever passes the page on may write 1e+06
    if (!rounded) return rounded.error();
    if (*rounded != std::floor(*rounded)) return refused(line, "a whole number");
    report_.dispatches = static_cast<std::uint64_t>(*rounded);
    return base::ok();
  }

  Status take_mapserver_up(const MetricLine& line) {
    if (report_.mapserver_up) return twice(line);
    const std::optional<double> value = base::number(line.value);
    if (!value || (*value != 0 && *value != 1)) return refused(line, "0 or 1");
    report_.mapserver_up = *value == 1;
    return base::ok();
  }

  // One line with 1, or one a state of which one has 1.
  Status take_state(const MetricLine& line) {
    const std::optional<Duty> duty = duty_named(label(line, "state"));
    const std::optional<double> value = base::number(line.value);
    if (!duty) {
      return Error{Fault::input, "loadprobe_state is '" + base::escaped(label(line, "state"), 60) +
                                     "'; wanted serving, draining or off"};
    }
    if (!value || (*value != 0 && *value != 1)) return refused(line, "0 or 1");
    if (*value == 0) return base::ok();
    if (has_state_) return twice(line);
    has_state_ = true;
    report_.duty = *duty;
    report_.reason = base::printable(label(line, "reason"), kMostReasonBytes);
    return base::ok();
  }

  Report report_;
  bool has_state_ = false;
  std::vector<std::uint64_t> cpu_lines_;  // fingerprints of the labels
  std::vector<std::uint64_t> cpus_;
};

}  // namespace

std::string_view name_of(Duty duty) {
  switch (duty) {
    case Duty::serving:
      return "serving";
    case Duty::draining:
      return "draining";
    case Duty::off:
      return "off";
  }
  return "";
}

std::optional<Duty> duty_named(std::string_view name) {
  for (const Duty duty : {Duty::serving, Duty::draining, Duty::off}) {
    if (name == name_of(duty)) return duty;
  }
  return std::nullopt;
}

Result<Report> parse_report(std::string_view page) {
  Reading reading;
  for (std::size_t number = 1; !page.empty(); ++number) {
    const auto placed = [number](const Error& error) { return Error(error).at("line " + std::to_string(number)); };
    const std::size_t end = page.find('\n');
    // Half a number is a number too: only the line's end tells that it is whole.
    if (end == std::string_view::npos) return placed(Error{Fault::input, "the page ends within a line"});
    const Result<std::optional<MetricLine>> line = parse_metric_line(page.substr(0, end));
    if (!line) return placed(line.error());
    if (*line) {
      if (const Status taken = reading.take(**line); !taken) return placed(taken.error());
    }
    page.remove_prefix(end + 1);
  }
  return std::move(reading).finish();
}

}  // namespace loadprobe
