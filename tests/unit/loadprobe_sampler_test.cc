// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loadprobe/probe.h"
#include "loadprobe/sampler.h"

namespace loadprobe {
namespace {

base::Instant at(double seconds) { return base::Instant{base::Seconds{seconds}}; }

// A machine of files: proc and cgroup mounts in a folder.
class Machine : public testing::Test {
 protected:
  Machine() {
    std::string name = testing::TempDir() + "sampler_test.XXXXXX";
    root_ = mkdtemp(name.data());
    put("proc/stat", "cpu  9 9 9\ncpu0 100 0 200 300 0 0 0 0\nbtime 1796024456\nprocs_running 4\n");
    put("proc/loadavg", "1.50 0.70 0.27 1/95 21142\n");
    put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n");
  }
  ~Machine() override { std::filesystem::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  void put(const std::string& name, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }
  void put_task(const std::string& id, char state) {
    put("proc/" + id + "/task/" + id + "/stat", id + " (map) serv) " + state + " 1 1 1 0 -1\n");
  }
  void remove(const std::string& name) { std::filesystem::remove_all(path(name)); }

  Mounts mounts() const { return {path("proc"), path("cgroup")}; }
  Sampler sampler(const Scope& scope = {}) const { return Sampler(mounts(), scope, path("drain")); }
  static Scope group(const std::string& name) { return {Scope::Kind::cgroup, name, ""}; }

  std::string root_;
};

TEST_F(Machine, TheLoadOfAHostIsReadWithoutTheReaderItself) {
  const Sample sample = sampler().take(at(1));
  ASSERT_TRUE(sample.load);
  EXPECT_EQ(sample.load->one, 1.5);
  EXPECT_EQ(sample.running, 3);
  EXPECT_EQ(sample.pressure, 2.5);
  EXPECT_EQ(sample.boot_time, 1796024456);
  ASSERT_EQ(sample.cpus.size(), 1U);
  EXPECT_FALSE(sample.group_cpu_seconds);
  EXPECT_EQ(sample.order, Order{});
}

TEST_F(Machine, MapProcessesAreThoseWhoseNameBeginsWithMapserv) {
  put("proc/100/task/100/stat", "100 (mapserv) R 1 1 1 0 -1\n");
  put("proc/101/task/101/stat", "101 (mapserv.fcgi) D 1 1 1 0 -1\n");
  put("proc/102/task/102/stat", "102 (mapserv) S 1 1 1 0 -1\n");
  put("proc/103/task/103/stat", "103 (nginx) R 1 1 1 0 -1\n");
  EXPECT_EQ(sampler().map_processes(), 2);
  put("cgroup/cpu/maps/tasks", "100\n103\n");
  EXPECT_EQ(sampler(group("/maps")).map_processes(), 1);
  EXPECT_EQ(sampler(group("/others")).map_processes(), std::nullopt);
  EXPECT_EQ(sampler({Scope::Kind::tree, "", path("pid")}).map_processes(), std::nullopt);
  remove("proc");
  EXPECT_EQ(sampler().map_processes(), std::nullopt);
}

TEST_F(Machine, AMissingFileIsAMissingMeasureAndOneWarning) {
  remove("proc/pressure");
  remove("proc/loadavg");
  Sampler sampler = this->sampler();
  testing::internal::CaptureStderr();
  const Sample first = sampler.take(at(1));
  EXPECT_FALSE(first.load);
  EXPECT_FALSE(first.pressure);
  EXPECT_EQ(first.running, 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: a measure is missing file=" + path("proc/loadavg") + " cause=\"cannot open " +
                path("proc/loadavg") + ": No such file or directory\"\n" +
                "warning: a measure is missing file=" + path("proc/pressure/cpu") + " cause=\"cannot open " +
                path("proc/pressure/cpu") + ": No such file or directory\"\n");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(sampler.take(at(2)).load);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Machine, AFileOfNonsenseIsAMissingMeasure) {
  put("proc/loadavg", "soon\n");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(sampler().take(at(1)).load);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: a measure is missing file=" + path("proc/loadavg") + " cause=\"it has not the expected form\"\n");
}

TEST_F(Machine, WithoutProcNothingIsZero) {
  remove("proc");
  testing::internal::CaptureStderr();
  const Sample sample = sampler().take(at(1));
  testing::internal::GetCapturedStderr();
  EXPECT_FALSE(sample.load);
  EXPECT_FALSE(sample.running);
  EXPECT_FALSE(sample.pressure);
  EXPECT_FALSE(sample.boot_time);
  EXPECT_TRUE(sample.cpus.empty());
}

TEST_F(Machine, TheCoresOfAHostAreTheLeastQuotaOnItsWay) {
  put("cgroup/cgroup.controllers", "cpu\n");
  put("proc/self/cgroup", "0::/a/b\n");
  put("cgroup/a/b/cpu.max", "max 100000\n");
  put("cgroup/a/cpu.max", "25000 100000\n");
  EXPECT_EQ(sampler().take(at(1)).cores, 0.25);
}

TEST_F(Machine, AContainersOwnQuotaIsAtTheMount) {
  put("cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  put("cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  put("proc/self/cgroup", "2:cpu,cpuacct:/docker/0123\n");
  EXPECT_EQ(sampler().take(at(1)).cores, 0.5);
}

TEST_F(Machine, WithoutGroupsTheCoresAreThoseOfTheAffinity) {
  const std::optional<double> cores = sampler().take(at(1)).cores;
  ASSERT_TRUE(cores);
  EXPECT_GE(*cores, 1);
}

class GroupsOfVersionOne : public Machine {
 protected:
  GroupsOfVersionOne() {
    put("cgroup/cpu/hosts/cpu.cfs_quota_us", "-1\n");
    put("cgroup/cpu/hosts/cpu.cfs_period_us", "100000\n");
    put("cgroup/cpu/hosts/pinchot/cpu.cfs_quota_us", "70000\n");
    put("cgroup/cpu/hosts/pinchot/cpu.cfs_period_us", "100000\n");
    put("cgroup/cpu/hosts/pinchot/tasks", "11\n12\n13\n14\n15\n");
    put("cgroup/cpuacct/hosts/pinchot/cpuacct.usage", "1500000000\n");
    put_task("11", 'R');
    put_task("12", 'S');
    put_task("13", 'D');
    put_task("14", 'Z');  // and 15 has ended meanwhile
  }
  Sample take() {
    testing::internal::CaptureStderr();
    Sample sample = sampler(group("/hosts/pinchot")).take(at(1));
    logged_ = testing::internal::GetCapturedStderr();
    return sample;
  }
  std::string logged_;
};

TEST_F(GroupsOfVersionOne, CountRunnableAndDiskWaitingThreads) { EXPECT_EQ(take().running, 2); }

TEST_F(GroupsOfVersionOne, CountTheGroupsBelowToo) {
  put("cgroup/cpu/hosts/pinchot/batch/tasks", "16\n");
  put("cgroup/cpu/hosts/pinchot/batch/night/tasks", "17\n");
  put_task("16", 'R');
  put_task("17", 'R');
  EXPECT_EQ(take().running, 4);
}

TEST_F(GroupsOfVersionOne, DoNotCountTheReaderItself) {
  const std::string own = std::to_string(::gettid());
  put("cgroup/cpu/hosts/pinchot/tasks", "11\n" + own + "\n");
  put_task(own, 'R');
  EXPECT_EQ(take().running, 1);
}

TEST_F(GroupsOfVersionOne, HaveAQuotaAndAUsage) {
  const Sample sample = take();
  EXPECT_EQ(sample.cores, 0.7);
  EXPECT_EQ(sample.group_cpu_seconds, 1.5);
  EXPECT_TRUE(sample.cpus.empty());
}

TEST_F(GroupsOfVersionOne, HaveNoPressureAndSaySoOnce) {
  EXPECT_FALSE(take().pressure);
  EXPECT_NE(logged_.find("cgroup/cpu/hosts/pinchot/cpu.pressure"), std::string::npos);
}

TEST_F(GroupsOfVersionOne, AGroupThatIsNotThereTellsNothing) {
  testing::internal::CaptureStderr();
  const Sample sample = sampler(group("/hosts/none")).take(at(1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no tasks can be read of this group"), std::string::npos);
  EXPECT_FALSE(sample.running);
  EXPECT_FALSE(sample.cores);
  EXPECT_FALSE(sample.group_cpu_seconds);
  EXPECT_FALSE(sample.load);
  EXPECT_EQ(sample.boot_time, 1796024456);
}

TEST_F(GroupsOfVersionOne, HaveLoadAveragesAfterAMinuteOfWatching) {
  testing::internal::CaptureStderr();
  Sampler sampler = this->sampler(group("/hosts/pinchot"));
  EXPECT_FALSE(sampler.take(at(100)).load);
  EXPECT_FALSE(sampler.take(at(159)).load);
  const Sample sample = sampler.take(at(160));
  testing::internal::GetCapturedStderr();
  ASSERT_TRUE(sample.load);
  EXPECT_DOUBLE_EQ(sample.load->one, 2);
}

TEST_F(Machine, AGroupOfVersionTwoIsReadFromOneFolder) {
  put("cgroup/cgroup.controllers", "cpuset cpu\n");
  put("cgroup/hosts/pinchot/cgroup.threads", "11\n");
  put("cgroup/hosts/pinchot/cpu.max", "max 100000\n");
  put("cgroup/hosts/pinchot/cpuset.cpus.effective", "0-7\n");
  put("cgroup/hosts/pinchot/cpu.stat", "usage_usec 2500000\nuser_usec 1\n");
  put("cgroup/hosts/pinchot/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n");
  put("cgroup/hosts/cpu.max", "300000 100000\n");
  put_task("11", 'R');
  testing::internal::CaptureStderr();
  const Sample sample = sampler(group("/hosts/pinchot")).take(at(1));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(sample.running, 1);
  EXPECT_EQ(sample.cores, 3);
  EXPECT_EQ(sample.group_cpu_seconds, 2.5);
  EXPECT_EQ(sample.pressure, 1.5);
}

TEST_F(Machine, WithoutGroupsAGroupTellsNothing) {
  testing::internal::CaptureStderr();
  const Sample sample = sampler(group("/hosts/pinchot")).take(at(1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no hierarchy of cpu groups is mounted here"),
            std::string::npos);
  EXPECT_FALSE(sample.running);
  EXPECT_FALSE(sample.cores);
}

TEST_F(Machine, TheDrainFileIsLookedAtInEverySample) {
  Sampler sampler = this->sampler();
  EXPECT_EQ(sampler.take(at(1)).order, Order{});
  put("drain", "kernel update\n");
  EXPECT_EQ(sampler.take(at(2)).order, (Order{Duty::draining, "kernel update"}));
  remove("drain");
  EXPECT_EQ(sampler.take(at(3)).order, Order{});
}

TEST_F(Machine, ADrainFileThatCannotBeReadStillDrains) {
  std::filesystem::create_directory(path("drain"));
  EXPECT_EQ(sampler().take(at(1)).order, (Order{Duty::draining, "the drain file cannot be read"}));
}

class Asked : public Machine {
 protected:
  Asked() {
    config_.allow = {*base::parse_cidr("127.0.0.0/8")};
    config_.drain_file = path("drain");
  }
  Reply ask(Probe& probe, double seconds, const Question& question, const char* peer = "127.0.0.1") {
    return probe.reply(question, *base::parse_address(peer), at(seconds));
  }
  static constexpr Question kScrape{"GET", "/metrics", {}, {}, Admission::refused};
  ProbeConfig config_ = default_config();
};

TEST_F(Asked, ASampleServesAllWhoAskWithinATenthOfASecond) {
  Probe probe(mounts(), config_, {1, "0.1"});
  const std::string first = ask(probe, 10, kScrape).body;
  put("proc/stat", "procs_running 8\nbtime 1796024456\n");
  EXPECT_EQ(ask(probe, 10.09, kScrape).body, first);
  EXPECT_NE(ask(probe, 10.11, kScrape).body.find("\nnode_procs_running 7\n"), std::string::npos);
}

TEST_F(Asked, CountsAreToldEvenWhereTheSampleIsShared) {
  Probe probe(mounts(), config_, {1, "0.1"});
  ask(probe, 10, {"GET", "/metrics", "00000000000000ff", "5", Admission::refused});
  const Reply reply = ask(probe, 10.01, {"GET", "/metrics", "00000000000000ff", "7", Admission::refused});
  EXPECT_EQ(reply.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(parse_report(reply.body)->dispatches, 2U);
}

TEST_F(Asked, AStrangerGets403AndItsCountIsNotTaken) {
  Probe probe(mounts(), config_, {1, "0.1"});
  ask(probe, 10, {"GET", "/metrics", "00000000000000ff", "5", Admission::refused});
  // Whatever the question says of its admission.
  EXPECT_EQ(ask(probe, 10, {"GET", "/metrics", "00000000000000ff", "9", Admission::allowed}, "192.0.2.1").status, 403U);
  EXPECT_EQ(parse_report(ask(probe, 11, kScrape).body)->dispatches, 0U);
}

TEST_F(Asked, OtherSettingsKeepTheCounts) {
  Probe probe(mounts(), config_, {1, "0.1"});
  ask(probe, 10, {"GET", "/metrics", "00000000000000ff", "5", Admission::refused});
  ask(probe, 10, {"GET", "/metrics", "00000000000000ff", "9", Admission::refused});
  config_.allow = {*base::parse_cidr("192.0.2.0/24")};
  probe.follow(config_);
  EXPECT_EQ(ask(probe, 11, kScrape).status, 403U);
  EXPECT_EQ(parse_report(ask(probe, 11, kScrape, "192.0.2.1").body)->dispatches, 4U);
}

}  // namespace
}  // namespace loadprobe
