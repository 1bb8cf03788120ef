// SPDX-License-Identifier: MIT
#include "loadprobe/proc.h"

#include <gtest/gtest.h>

#include <string>

namespace loadprobe {
namespace {

constexpr std::string_view kStat =
    "cpu  18143 0 5058 190500 744 0 149 20 0 0\n"
    "cpu0 8067 50 2039 97137 24 0 13 8 0 0\n"
    "cpu1 10076 0 3018 93362 720 0 135 12 7 0\n"
    "intr 371636 0 0 0\n"
    "ctxt 795384\n"
    "btime 1796024456\n"
    "processes 21135\n"
    "procs_running 3\n"
    "procs_blocked 0\n";

TEST(Proc, ReadsLoadAverages) {
  const auto load = parse_load_averages("1.86 0.70 0.27 1/95 21142\n");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->one, 1.86);
  EXPECT_EQ(load->five, 0.7);
  EXPECT_EQ(load->fifteen, 0.27);
}

TEST(Proc, LoadAveragesThatSayNothingAreMissing) {
  for (const char* bad : {"", "\n", "1.86 0.70", "a b c", "-1 0 0", "nan 0 0", "1,86 0,70 0,27"}) {
    EXPECT_FALSE(parse_load_averages(bad)) << bad;
  }
}

TEST(Proc, ReadsTheKernelsCounters) {
  const KernelStat stat = parse_kernel_stat(kStat, 100);
  EXPECT_EQ(stat.running, 3);
  EXPECT_EQ(stat.boot_time, 1796024456);
  ASSERT_EQ(stat.cpus.size(), 2U);
  EXPECT_EQ(stat.cpus[0].cpu, 0U);
  EXPECT_EQ(stat.cpus[0].seconds, (std::vector<double>{80.67, 0.5, 20.39, 971.37, 0.24, 0, 0.13, 0.08}));
  EXPECT_EQ(stat.cpus[1].cpu, 1U);
}

TEST(Proc, AnOldKernelTellsFewerModes) {
  const KernelStat stat = parse_kernel_stat("cpu0 100 0 200 300\n", 100);
  ASSERT_EQ(stat.cpus.size(), 1U);
  EXPECT_EQ(stat.cpus[0].seconds, (std::vector<double>{1, 0, 2, 3}));
}

TEST(Proc, WhatTheKernelDoesNotSayIsMissing) {
  const KernelStat stat = parse_kernel_stat("cpu 1 2 3\ncpux 1 2\ncpu1 1 -2 3\nprocs_running\nbtime now\n", 100);
  EXPECT_TRUE(stat.cpus.empty());
  EXPECT_FALSE(stat.running);
  EXPECT_FALSE(stat.boot_time);
}

TEST(Proc, EveryTruncationOfTheCountersIsRead) {
  for (std::size_t size = 0; size <= kStat.size(); ++size) {
    const KernelStat stat = parse_kernel_stat(kStat.substr(0, size), 100);
    EXPECT_LE(stat.cpus.size(), 2U);
  }
}

TEST(Proc, ReadsHowLongSomeTaskWaited) {
  constexpr std::string_view kPressure =
      "some avg10=26.67 avg60=11.14 avg300=4.02 total=23437017\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
  EXPECT_EQ(parse_pressure(kPressure), 23.437017);
  EXPECT_FALSE(parse_pressure("full avg10=0.00 total=5\n"));
  EXPECT_FALSE(parse_pressure("some avg10=0.00 total=x\n"));
  EXPECT_FALSE(parse_pressure(""));
}

TEST(Proc, TheStateStandsBehindTheLastParenthesis) {
  EXPECT_EQ(parse_task_state("21142 (mapserv) R 1 2 3"), 'R');
  EXPECT_EQ(parse_task_state("7 (a) S (b)) D 1"), 'D');
  EXPECT_EQ(parse_task_state("7 (a\nb) S"), 'S');
  EXPECT_FALSE(parse_task_state("7 (mapserv) "));
  EXPECT_FALSE(parse_task_state("7 (mapserv)"));
  EXPECT_FALSE(parse_task_state("7 mapserv R 1"));
  EXPECT_FALSE(parse_task_state(""));
}

TEST(Proc, TheNameStandsBetweenTheOuterParentheses) {
  EXPECT_EQ(task_name("21142 (mapserv) R 1 2 3"), "mapserv");
  EXPECT_EQ(task_name("7 (a) S (b)) D 1"), "a) S (b)");
  EXPECT_EQ(task_name("7 mapserv R 1"), "");
  EXPECT_EQ(task_name(")("), "");
}

TEST(Proc, AveragesDecayByTheKernelsRule) {
  const LoadAverages after = damped({0, 4, 2}, 1, base::Seconds{60});
  EXPECT_NEAR(after.one, 0.6321, 0.0001);
  EXPECT_NEAR(after.five, 3.4562, 0.0001);
  EXPECT_NEAR(after.fifteen, 1.9355, 0.0001);
}

TEST(Proc, AveragesStayWhereTheTasksStay) {
  const LoadAverages after = damped({2, 2, 2}, 2, base::Seconds{0.1});
  EXPECT_DOUBLE_EQ(after.one, 2);
  EXPECT_DOUBLE_EQ(after.fifteen, 2);
}

}  // namespace
}  // namespace loadprobe
