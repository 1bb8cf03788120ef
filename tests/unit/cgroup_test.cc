// SPDX-License-Identifier: MIT
#include "loadprobe/cgroup.h"

#include <gtest/gtest.h>

namespace loadprobe {
namespace {

TEST(Cgroup, AQuotaMayBeAFractionOfACore) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cfs_quota("50000\n", "100000\n"), 0.5);
}

TEST(Cgroup, NoQuotaIsUnlimited) {
  EXPECT_EQ(parse_cpu_max("max 100000\n"), kUnlimitedCores);
  EXPECT_EQ(parse_cfs_quota("-1\n", "100000\n"), kUnlimitedCores);
}

TEST(Cgroup, AQuotaThatSaysNothingIsMissing) {
  for (const char* bad : {"", "max", "100000", "a b", "-5 100000", "0 100000", "100000 0", "1 2 3"}) {
    EXPECT_FALSE(parse_cpu_max(bad)) << bad;
  }
  EXPECT_FALSE(parse_cfs_quota("", "100000"));
  EXPECT_FALSE(parse_cfs_quota("0", "100000"));
  EXPECT_FALSE(parse_cfs_quota("50000", ""));
}

TEST(Cgroup, ReadsUsageOfBothVersionsInSeconds) {
  EXPECT_EQ(parse_usage_usec("usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n"), 2.5);
  EXPECT_EQ(parse_usage_nanoseconds("1500000000\n"), 1.5);
  EXPECT_FALSE(parse_usage_usec("user_usec 2000000\n"));
  EXPECT_FALSE(parse_usage_usec("usage_usec -1\n"));
  EXPECT_FALSE(parse_usage_nanoseconds(""));
}

TEST(Cgroup, CountsTheCpusOfAList) {
  EXPECT_EQ(parse_cpu_list("0-3,7\n"), 5);
  EXPECT_EQ(parse_cpu_list("2"), 1);
  for (const char* bad : {"", "\n", "3-1", "a", "0-", "-3", "0-99999999999", "1,,2"})
    EXPECT_FALSE(parse_cpu_list(bad)) << bad;
}

TEST(Cgroup, TasksOfOtherNamespacesAndNonsenseAreNoTasks) {
  EXPECT_EQ(parse_task_ids("12\n0\n-5\nx\n4194304\n4194305\n99999999999999999999\n7"),
            (std::vector<int>{12, 4194304, 7}));
  EXPECT_TRUE(parse_task_ids("").empty());
}

TEST(Cgroup, FindsTheGroupOfEachHierarchy) {
  constexpr std::string_view kText = "4:memory:/m\n2:cpu,cpuacct:/a:b\n1:name=systemd:/s\n0::/two\n";
  EXPECT_EQ(parse_own_group(kText, "cpu"), "/a:b");
  EXPECT_EQ(parse_own_group(kText, "cpuacct"), "/a:b");
  EXPECT_EQ(parse_own_group(kText, ""), "/two");
  EXPECT_FALSE(parse_own_group(kText, "cpuset"));
  EXPECT_FALSE(parse_own_group("nonsense", ""));
}

TEST(Cgroup, GoesUpToTheMount) {
  EXPECT_EQ(groups_upward("/a/b"), (std::vector<std::string>{"/a/b", "/a", ""}));
  EXPECT_EQ(groups_upward("/"), (std::vector<std::string>{""}));
  EXPECT_EQ(groups_upward(""), (std::vector<std::string>{""}));
}

}  // namespace
}  // namespace loadprobe
