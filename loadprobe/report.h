// SPDX-License-Identifier: MIT
// A report: what a probe says of a host at one moment, and its form on the wire, a page in the Prometheus text format.
// loadprobe writes it, node_exporter writes a part of it under the same names, poolwatch reads both with one parser.
// Floor 1: a value and pure functions over text. The only header of loadprobe/ (besides base/) that balance/ includes.
//
//   metric                                     unit             field
//   node_load1, _load5, _load15                tasks            load1, load5, load15
//   node_procs_running                         tasks            running (loadprobe's own thread not counted)
//   node_cpu_seconds_total{cpu=,mode=}         s, counter       cpu_seconds: sum over cpus and modes but idle and
//   iowait
//                                                               (numbered cpus also give cores, if nothing else does)
//   node_boot_time_seconds                     s since 1970     boot_time
//   node_pressure_cpu_waiting_seconds_total    s, counter       pressure
//   loadprobe_cores                            cores            cores: usable ones, may be fractional
//   loadprobe_requests_waiting                 requests         waiting, in listen queues
//   loadprobe_map_processes_running            processes        map_running: only for who asks for it
//   loadprobe_requests_running                 requests         requests in progress, where a host can count them
//   loadprobe_requests_completed_total         requests         completed, likewise
//   loadprobe_dispatches_total                 requests         dispatches that balancers told of
//   loadprobe_start_time_seconds               s since 1970     start_time
//   loadprobe_state{state=,reason=}            1                duty: serving, draining, off; and why
//   loadprobe_mapserver_up                     0 or 1           mapserver_up
//   loadprobe_info{version=}                   1                version
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "loadprobe/base/result.h"

namespace loadprobe {

// What the host's administrator wants of it: serving takes requests, draining finishes what it has and gets no new
// ones, off is out of the pool.
enum class Duty : std::uint8_t { serving, draining, off };
std::string_view name_of(Duty duty);
std::optional<Duty> duty_named(std::string_view name);

// Everything is optional: what a host does not know is missing, never zero.
struct Report {
  std::optional<double> load1, load5, load15;
  std::optional<double> running;
  std::optional<double> waiting;
  std::optional<double> map_running;
  std::optional<double> requests;
  std::optional<double> completed;
  std::optional<double> cores;
  std::optional<double> cpu_seconds;
  std::optional<double> pressure;
  std::optional<double> boot_time;
  std::optional<double> start_time;
  std::optional<std::uint64_t> dispatches;
  std::optional<bool> mapserver_up;
  Duty duty = Duty::serving;
  std::string reason;   // of the duty; at most 200 bytes, printable
  std::string version;  // of loadprobe; "" from others
};

// Reads a page. Unknown metrics, comments, time stamps, exemplars and labels are passed over, so versions mix. An error
// (with the line) for text that is no such page (a label that never ends, no number, a last line that is cut off), for
// NaN, infinities, negatives and absurd values of the metrics above (loads, tasks and requests in hand above 1e6, cores
// 0 or above 65,536, seconds above 1e11, counts above 2^63), for an unknown state, for a metric given twice (CPU
// seconds: twice with the same labels), and for a page that does not say how busy the host is now (no load of one
// minute and no running tasks). Texts are made printable and cut. Never allocates more than a small multiple of the
// page.
base::Result<Report> parse_report(std::string_view page);

}  // namespace loadprobe
