// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "loadprobe/exposition.h"
#include "loadprobe/report.h"
#include "loadprobe/sample.h"

namespace loadprobe {
namespace {

Sample full_sample() {
  Sample sample;
  sample.load = LoadAverages{1.86, 0.7, 0.27};
  sample.running = 3;
  sample.waiting = 7;
  sample.cores = 1.5;
  sample.cpus = {{0, {80.67, 0, 20.38, 971.36, 0.24, 0, 0.13, 0.08}}, {3, {1, 2, 3, 4}}};
  sample.pressure = 23.437017;
  sample.boot_time = 1796024456;
  sample.order = {Duty::draining, "say \"when\" \\o/"};
  return sample;
}

constexpr std::string_view kFullPage = R"(# HELP node_load1 Load average of one minute.
# TYPE node_load1 gauge
node_load1 1.86
# HELP node_load5 Load average of five minutes.
# TYPE node_load5 gauge
node_load5 0.7
# HELP node_load15 Load average of fifteen minutes.
# TYPE node_load15 gauge
node_load15 0.27
# HELP node_procs_running Runnable tasks now, without loadprobe itself.
# TYPE node_procs_running gauge
node_procs_running 3
# HELP loadprobe_requests_waiting Connections in listen queues that nobody has accepted yet.
# TYPE loadprobe_requests_waiting gauge
loadprobe_requests_waiting 7
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="user"} 80.67
node_cpu_seconds_total{cpu="0",mode="nice"} 0
node_cpu_seconds_total{cpu="0",mode="system"} 20.38
node_cpu_seconds_total{cpu="0",mode="idle"} 971.36
node_cpu_seconds_total{cpu="0",mode="iowait"} 0.24
node_cpu_seconds_total{cpu="0",mode="irq"} 0
node_cpu_seconds_total{cpu="0",mode="softirq"} 0.13
node_cpu_seconds_total{cpu="0",mode="steal"} 0.08
node_cpu_seconds_total{cpu="3",mode="user"} 1
node_cpu_seconds_total{cpu="3",mode="nice"} 2
node_cpu_seconds_total{cpu="3",mode="system"} 3
node_cpu_seconds_total{cpu="3",mode="idle"} 4
# HELP node_pressure_cpu_waiting_seconds_total Seconds in which some task waited for a CPU.
# TYPE node_pressure_cpu_waiting_seconds_total counter
node_pressure_cpu_waiting_seconds_total 23.437017
# HELP node_boot_time_seconds When the machine was started, in seconds since 1970.
# TYPE node_boot_time_seconds gauge
node_boot_time_seconds 1796024456
# HELP loadprobe_start_time_seconds When loadprobe was started, in seconds since 1970.
# TYPE loadprobe_start_time_seconds gauge
loadprobe_start_time_seconds 1796025530.5
# HELP loadprobe_cores CPU cores that may be used, by affinity and quota.
# TYPE loadprobe_cores gauge
loadprobe_cores 1.5
# HELP loadprobe_state The duty of this host and the reason for it; always 1.
# TYPE loadprobe_state gauge
loadprobe_state{state="draining",reason="say \"when\" \\o/"} 1
# HELP loadprobe_info The version of loadprobe; always 1.
# TYPE loadprobe_info gauge
loadprobe_info{version="0.1"} 1
)";

TEST(Page, TellsTheWholeSample) { EXPECT_EQ(page_of(full_sample(), {1796025530.5, "0.1"}), kFullPage); }

TEST(Page, ReadsBackAsTheReportOfTheSample) {
  const base::Result<Report> report =
      parse_report(page_of(full_sample(), {1796025530.5, "0.1"}) + page_of_dispatches(1ULL << 63));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->load1, 1.86);
  EXPECT_EQ(report->load5, 0.7);
  EXPECT_EQ(report->load15, 0.27);
  EXPECT_EQ(report->running, 3);
  EXPECT_EQ(report->cores, 1.5);
  EXPECT_EQ(report->waiting, 7);
  EXPECT_DOUBLE_EQ(*report->cpu_seconds, 107.26);
  EXPECT_EQ(report->pressure, 23.437017);
  EXPECT_EQ(report->boot_time, 1796024456);
  EXPECT_EQ(report->start_time, 1796025530.5);
  EXPECT_EQ(report->dispatches, 1ULL << 63);
  EXPECT_EQ(report->duty, Duty::draining);
  EXPECT_EQ(report->reason, "say \"when\" \\o/");
  EXPECT_EQ(report->version, "0.1");
}

TEST(Page, AMissingMeasureIsAMissingLine) {
  EXPECT_EQ(page_of(Sample{}, {1, "0.1"}),
            "# HELP loadprobe_start_time_seconds When loadprobe was started, in seconds since 1970.\n"
            "# TYPE loadprobe_start_time_seconds gauge\n"
            "loadprobe_start_time_seconds 1\n"
            "# HELP loadprobe_state The duty of this host and the reason for it; always 1.\n"
            "# TYPE loadprobe_state gauge\n"
            "loadprobe_state{state=\"serving\",reason=\"\"} 1\n"
            "# HELP loadprobe_info The version of loadprobe; always 1.\n"
            "# TYPE loadprobe_info gauge\n"
            "loadprobe_info{version=\"0.1\"} 1\n");
}

TEST(Page, TheCpuTimeOfAGroupIsOfAllCpusTogether) {
  Sample sample;
  sample.running = 0;
  sample.group_cpu_seconds = 12.5;
  const std::string page = page_of(sample, {1, "0.1"});
  EXPECT_NE(page.find("\nnode_cpu_seconds_total{cpu=\"all\",mode=\"busy\"} 12.5\n"), std::string::npos);
  EXPECT_EQ(parse_report(page)->cpu_seconds, 12.5);
}

TEST(Page, ALabelWithALineEndReadsBack) {
  PageWriter writer;
  writer.family("x", MetricKind::gauge, "A test.");
  writer.sample(1.0, {{"a", "b\n\"\\"}, {"c", ""}});
  const std::string page = std::move(writer).page();
  EXPECT_EQ(page, "# HELP x A test.\n# TYPE x gauge\nx{a=\"b\\n\\\"\\\\\",c=\"\"} 1\n");
  const auto line = parse_metric_line("x{a=\"b\\n\\\"\\\\\",c=\"\"} 1");
  ASSERT_TRUE(line && *line);
  EXPECT_EQ(label(**line, "a"), "b\n\"\\");
  EXPECT_EQ(label(**line, "missing"), "");
}

}  // namespace
}  // namespace loadprobe
