// SPDX-License-Identifier: MIT
#include "loadprobe/report.h"

#include <gtest/gtest.h>

#include <string>

namespace loadprobe {
namespace {

// As node_exporter 1.5 answers to collect[]= loadavg, stat, cpu and pressure, less most of its runtime's metrics.
constexpr std::string_view kNodeExporterPage =
    R"(# HELP go_gc_duration_seconds A summary of the pause duration of garbage collection cycles.
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile="0"} 0
go_gc_duration_seconds{quantile="0.25"} NaN
go_info{version="go1.19.8"} 1
go_memstats_sys_bytes 1.4398728e+07
# HELP node_boot_time_seconds Node boot time, in unixtime.
# TYPE node_boot_time_seconds gauge
node_boot_time_seconds 1.796024456e+09
node_context_switches_total 795384
node_cpu_guest_seconds_total{cpu="0",mode="nice"} 0
node_cpu_seconds_total{cpu="0",mode="idle"} 971.36
node_cpu_seconds_total{cpu="0",mode="iowait"} 0.24
node_cpu_seconds_total{cpu="0",mode="irq"} 0
node_cpu_seconds_total{cpu="0",mode="nice"} 0
node_cpu_seconds_total{cpu="0",mode="softirq"} 0.25
node_cpu_seconds_total{cpu="0",mode="steal"} 0.5
node_cpu_seconds_total{cpu="0",mode="system"} 20.25
node_cpu_seconds_total{cpu="0",mode="user"} 80
node_cpu_seconds_total{cpu="1",mode="idle"} 933.62
node_cpu_seconds_total{cpu="1",mode="user"} 100
node_exporter_build_info{branch="debian/sid",goarch="amd64",goos="linux",goversion="go1.19.8",version="1.5.0"} 1
# HELP node_load1 1m load average.
# TYPE node_load1 gauge
node_load1 1.86
node_load15 0.27
node_load5 0.7
node_pressure_cpu_waiting_seconds_total 23.433640999999998
node_pressure_memory_stalled_seconds_total 0
node_procs_blocked 0
node_procs_running 3
node_scrape_collector_duration_seconds{collector="loadavg"} 1.7162e-05
process_virtual_memory_max_bytes 1.8446744073709552e+19
promhttp_metric_handler_errors_total{cause="encoding"} 0
)";

constexpr std::string_view kLoadprobePage = R"(node_load1 0.25
node_procs_running 2
node_cpu_seconds_total{cpu="0",mode="user"} 10.5
loadprobe_cores 1.5
loadprobe_dispatches_total 9007199254740993
loadprobe_start_time_seconds 1796025530.5
loadprobe_state{state="draining",reason="kernel \"6.1\"\n\\ update"} 1
loadprobe_info{version="0.1"} 1
)";

// The error for a page of `line` among good ones.
std::string fault_of(const std::string& line) {
  const base::Result<Report> report = parse_report("node_load1 1\n" + line + "\n");
  return report ? "none" : report.error().what;
}

TEST(Report, ReadsAPageOfNodeExporter) {
  const base::Result<Report> report = parse_report(kNodeExporterPage);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->load1, 1.86);
  EXPECT_EQ(report->load5, 0.7);
  EXPECT_EQ(report->load15, 0.27);
  EXPECT_EQ(report->running, 3);
  EXPECT_EQ(report->boot_time, 1796024456);
  EXPECT_EQ(report->pressure, 23.433640999999998);
  EXPECT_EQ(report->cpu_seconds, 201);
  EXPECT_EQ(report->cores, 2);
  EXPECT_EQ(report->duty, Duty::serving);
  EXPECT_FALSE(report->dispatches);
  EXPECT_FALSE(report->waiting);
  EXPECT_FALSE(report->start_time);
  EXPECT_FALSE(report->mapserver_up);
  EXPECT_EQ(report->version, "");
}

TEST(Report, ReadsWhatOnlyLoadprobeTells) {
  const base::Result<Report> report = parse_report(kLoadprobePage);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->cores, 1.5);
  EXPECT_EQ(report->dispatches, 9007199254740993ULL);
  EXPECT_EQ(report->start_time, 1796025530.5);
  EXPECT_EQ(report->duty, Duty::draining);
  EXPECT_EQ(report->reason, "kernel \"6.1\" \\ update");
  EXPECT_EQ(report->version, "0.1");
}

TEST(Report, WhatIsNotToldIsMissingAndNotZero) {
  const base::Result<Report> report = parse_report("node_procs_running 0\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->running, 0);
  EXPECT_FALSE(report->load1);
  EXPECT_FALSE(report->cores);
  EXPECT_FALSE(report->cpu_seconds);
}

TEST(Report, PassesOverTimeStampsExemplarsBlanksAndTrailingCommas) {
  const base::Result<Report> report = parse_report(
      "\n  # note\nnode_load1 1.5 1796025530000\nnode_procs_running\t2 # {id=\"x\"} 1\n"
      "node_cpu_seconds_total { cpu = \"0\" , mode = \"user\" , } 3\n# EOF\n");
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->load1, 1.5);
  EXPECT_EQ(report->running, 2);
  EXPECT_EQ(report->cpu_seconds, 3);
}

TEST(Report, CpusWithoutANumberAreNoCores) {
  EXPECT_FALSE(parse_report("node_load1 1\nnode_cpu_seconds_total{cpu=\"all\",mode=\"busy\"} 3\n")->cores);
  EXPECT_EQ(parse_report("node_load1 1\nnode_cpu_seconds_total{cpu=\"all\",mode=\"busy\"} 3\n")->cpu_seconds, 3);
}

TEST(Report, ACountMayComeInExponentNotation) {
  EXPECT_EQ(parse_report("node_load1 1\nloadprobe_dispatches_total 1.2e+06\n")->dispatches, 1200000U);
  EXPECT_EQ(fault_of("loadprobe_dispatches_total 1.5"),
            "line 2: loadprobe_dispatches_total is '1.5'; wanted a whole number");
}

TEST(Report, AStateOfSeveralLinesIsTheOneThatHolds) {
  const base::Result<Report> report = parse_report(
      "node_load1 1\nloadprobe_state{state=\"serving\"} 0\nloadprobe_state{state=\"off\",reason=\"moved\"} 1\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->duty, Duty::off);
  EXPECT_EQ(report->reason, "moved");
}

TEST(Report, RefusesAbsurdValues) {
  EXPECT_EQ(fault_of("node_procs_running NaN"),
            "line 2: node_procs_running is 'NaN'; wanted a number from 0 to 1000000");
  EXPECT_EQ(fault_of("node_load5 +Inf"), "line 2: node_load5 is '+Inf'; wanted a number from 0 to 1000000");
  EXPECT_EQ(fault_of("node_load5 -0.1"), "line 2: node_load5 is '-0.1'; wanted a number from 0 to 1000000");
  EXPECT_EQ(fault_of("loadprobe_cores 0"), "line 2: loadprobe_cores is '0'; wanted more than 0");
  EXPECT_EQ(fault_of("loadprobe_cores 65537"), "line 2: loadprobe_cores is '65537'; wanted a number from 0 to 65536");
  EXPECT_EQ(fault_of("node_boot_time_seconds 1e12"),
            "line 2: node_boot_time_seconds is '1e12'; wanted a number from 0 to 100000000000");
  EXPECT_EQ(fault_of("loadprobe_dispatches_total 9223372036854775809"),
            "line 2: loadprobe_dispatches_total is '9223372036854775809'; wanted at most 2^63");
  EXPECT_EQ(fault_of("loadprobe_mapserver_up 2"), "line 2: loadprobe_mapserver_up is '2'; wanted 0 or 1");
  EXPECT_EQ(fault_of("loadprobe_state{state=\"asleep\"} 1"),
            "line 2: loadprobe_state is 'asleep'; wanted serving, draining or off");
  EXPECT_EQ(fault_of("node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} -1"),
            "line 2: node_cpu_seconds_total is '-1'; wanted a number from 0 to 100000000000");
}

TEST(Report, RefusesAMetricGivenTwice) {
  EXPECT_EQ(fault_of("node_load1 1"), "line 2: node_load1 is given twice");
  EXPECT_EQ(
      fault_of("node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 1\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 1"),
      "node_cpu_seconds_total is given twice with the same labels");
  EXPECT_EQ(fault_of("loadprobe_state{state=\"off\"} 1\nloadprobe_state{state=\"serving\"} 1"),
            "line 3: loadprobe_state is given twice");
}

TEST(Report, LongAveragesAloneDoNotSayHowBusyAHostIs) {
  EXPECT_EQ(parse_report("node_load5 0.5\nnode_load15 0.5\n").error().what,
            "found neither a load average of one minute nor the running tasks; wanted a page of loadprobe or "
            "node_exporter");
}

TEST(Report, RefusesWhatIsNoSuchPage) {
  EXPECT_EQ(parse_report("").error().what,
            "found neither a load average of one minute nor the running tasks; wanted a page of loadprobe or "
            "node_exporter");
  EXPECT_EQ(fault_of("<html><body>It works!</body></html>"),
            "line 2: found '<html><body>It works!</body></html>'; wanted the name of a metric");
  EXPECT_EQ(fault_of("x{a=\"b} 1"), "line 2: x: found '\\x22b} 1'; wanted a label's value that ends");
  EXPECT_EQ(fault_of("x{a=\"b\\q\"} 1"),
            "line 2: x: found '\\x22b\\x5Cq\\x22} 1'; wanted only \\\\, \\\" and \\n behind a backslash");
  EXPECT_EQ(fault_of("x{a=\"b\" c=\"d\"} 1"), "line 2: x: found 'c=\\x22d\\x22} 1'; wanted ',' or '}' behind a label");
  EXPECT_EQ(fault_of("x{=\"b\"} 1"), "line 2: x: found '=\\x22b\\x22} 1'; wanted a label, as in cpu=\"0\"");
  EXPECT_EQ(fault_of("x"), "line 2: found 'x'; wanted a metric: name, labels, value");
  EXPECT_EQ(fault_of("x many"), "line 2: x: found 'many'; wanted a number");
  EXPECT_EQ(fault_of("x 1 2 3"), "line 2: x: found 'x 1 2 3'; wanted nothing but a time stamp behind the value");
  EXPECT_EQ(fault_of("x 1,5"), "line 2: x: found '1,5'; wanted a number");
}

TEST(Report, ANumberCutOffIsRefused) {
  EXPECT_EQ(parse_report("node_load1 1\nnode_procs_running 1").error().what, "line 2: the page ends within a line");
}

TEST(Report, TextsAreMadePrintableAndCut) {
  const base::Result<Report> report =
      parse_report("node_load1 1\nloadprobe_state{state=\"off\",reason=\"\x1B[2J" + std::string(300, 'x') + "\"} 1\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->reason, "?[2J" + std::string(196, 'x'));
}

void expect_in_range(const Report& report) {
  for (const auto field : {&Report::load1, &Report::load5, &Report::load15, &Report::running, &Report::waiting}) {
    if (report.*field) {
      EXPECT_TRUE(*(report.*field) >= 0 && *(report.*field) <= 1e6);
    }
  }
  for (const auto field : {&Report::cpu_seconds, &Report::pressure, &Report::boot_time, &Report::start_time}) {
    if (report.*field) {
      EXPECT_TRUE(*(report.*field) >= 0 && *(report.*field) <= 1e11);
    }
  }
  if (report.cores) {
    EXPECT_TRUE(*report.cores > 0 && *report.cores <= 65536);
  }
  EXPECT_LE(report.dispatches.value_or(0), 1ULL << 63);
  EXPECT_LE(report.reason.size(), 200U);
  EXPECT_TRUE(report.load1 || report.running);
}

TEST(Report, EveryTruncationIsRefusedOrInRange) {
  for (const std::string_view page : {kNodeExporterPage, kLoadprobePage}) {
    for (std::size_t size = 0; size <= page.size(); ++size) {
      const base::Result<Report> report = parse_report(page.substr(0, size));
      const bool at_line_end = size == 0 || page[size - 1] == '\n';
      if (!at_line_end) {
        EXPECT_FALSE(report) << size;
      }
      if (report) expect_in_range(*report);
    }
  }
}

TEST(Report, EveryChangedByteIsRefusedOrInRange) {
  for (const std::string_view page : {kNodeExporterPage, kLoadprobePage}) {
    std::string changed(page);
    for (std::size_t i = 0; i < changed.size(); ++i) {
      for (const char byte : {'\0', '\n', '"', '\\', '{', '}', '-', 'e', '9', ' ', '#', '\xFF'}) {
        changed[i] = byte;
        if (const base::Result<Report> report = parse_report(changed)) expect_in_range(*report);
      }
      changed[i] = page[i];
    }
  }
}

TEST(Report, EveryFlippedBitIsRefusedOrInRange) {
  std::string changed(kLoadprobePage);
  for (std::size_t bit = 0; bit < 8 * changed.size(); ++bit) {
    const auto mask = static_cast<char>(1U << (bit % 8));
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ mask);
    if (const base::Result<Report> report = parse_report(changed)) expect_in_range(*report);
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ mask);
  }
}

TEST(Duty, NamesGoBothWays) {
  for (const Duty duty : {Duty::serving, Duty::draining, Duty::off}) EXPECT_EQ(duty_named(name_of(duty)), duty);
  EXPECT_FALSE(duty_named("Serving"));
  EXPECT_FALSE(duty_named(""));
}

}  // namespace
}  // namespace loadprobe
