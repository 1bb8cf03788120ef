// SPDX-License-Identifier: MIT
// Floor 1: a value and pure functions.
#include "loadprobe/sample.h"

#include <algorithm>

#include "loadprobe/exposition.h"

namespace loadprobe {
namespace {

void gauge(PageWriter& page, std::string_view name, std::string_view help, const std::optional<double>& value) {
  if (!value) return;
  page.family(name, MetricKind::gauge, help);
  page.sample(*value);
}

void cpu_seconds(PageWriter& page, const Sample& sample) {
  if (sample.cpus.empty() && !sample.group_cpu_seconds) return;
  page.family("node_cpu_seconds_total", MetricKind::counter, "Seconds the CPUs spent in each mode.");
  for (const CpuTimes& times : sample.cpus) {
    const std::size_t modes = std::min(times.seconds.size(), kCpuModes.size());
    for (std::size_t i = 0; i < modes; ++i) {
      page.sample(times.seconds[i], {{"cpu", std::to_string(times.cpu)}, {"mode", std::string(kCpuModes[i])}});
    }
  }
  if (sample.group_cpu_seconds) page.sample(*sample.group_cpu_seconds, {{"cpu", "all"}, {"mode", "busy"}});
}

}  // namespace

std::string page_of(const Sample& sample, const Teller& teller) {
  PageWriter page;
  if (sample.load) {
    gauge(page, "node_load1", "Load average of one minute.", sample.load->one);
    gauge(page, "node_load5", "Load average of five minutes.", sample.load->five);
    gauge(page, "node_load15", "Load average of fifteen minutes.", sample.load->fifteen);
  }
  gauge(page, "node_procs_running", "Runnable tasks now, without loadprobe itself.", sample.running);
  gauge(page, "loadprobe_requests_waiting", "Connections in listen queues that nobody has accepted yet.",
        sample.waiting);
  cpu_seconds(page, sample);
  if (sample.pressure) {
    page.family("node_pressure_cpu_waiting_seconds_total", MetricKind::counter,
                "Seconds in which some task waited for a CPU.");
    page.sample(*sample.pressure);
  }
  gauge(page, "node_boot_time_seconds", "When the machine was started, in seconds since 1970.", sample.boot_time);
  gauge(page, "loadprobe_start_time_seconds", "When loadprobe was started, in seconds since 1970.", teller.start_time);
  gauge(page, "loadprobe_cores", "CPU cores that may be used, by affinity and quota.", sample.cores);
  page.family("loadprobe_state", MetricKind::gauge, "The duty of this host and the reason for it; always 1.");
  page.sample(1.0, {{"state", std::string(name_of(sample.order.duty))}, {"reason", sample.order.reason}});
  page.family("loadprobe_info", MetricKind::gauge, "The version of loadprobe; always 1.");
  page.sample(1.0, {{"version", std::string(teller.version)}});
  return std::move(page).page();
}

std::string page_of_dispatches(std::uint64_t total) {
  PageWriter page;
  page.family("loadprobe_dispatches_total", MetricKind::counter, "Requests that balancers sent to this host.");
  page.sample(total);
  return std::move(page).page();
}

std::string page_of_map_processes(const std::optional<double>& at_work) {
  PageWriter page;
  gauge(page, "loadprobe_map_processes_running", "Runnable processes whose name begins with mapserv.", at_work);
  return std::move(page).page();
}

}  // namespace loadprobe
