// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loadprobe/growing_sum.h"
#include "loadprobe/proc.h"
#include "loadprobe/process_tree.h"
#include "loadprobe/sampler.h"

namespace loadprobe {
namespace {

base::Instant at(double seconds) { return base::Instant{base::Seconds{seconds}}; }

TEST(ProcessStat, ReadsStateTimesAndThreadsBehindAnyName) {
  const auto stat = parse_process_stat(
      "4711 (map) serv) D 1 1 1 0 -1 4194560 9 8 7 6 100 20 3000 400 20 0 5 0 1796 1 1 1 1 1 1 1 1 0 0 0\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->own_ticks, 120);
  EXPECT_EQ(stat->children_ticks, 3400);
  EXPECT_EQ(stat->threads, 5U);
}

TEST(ProcessStat, EveryTruncationBeforeTheThreadsIsNothing) {
  const std::string whole = "4711 (mapserv) R 1 1 1 0 -1 0 9 8 7 6 100 20 3000 400 20 0 5";
  ASSERT_TRUE(parse_process_stat(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_process_stat(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(parse_process_stat("4711 (mapserv) R 1 1 1 0 -1 0 9 8 7 6 -100 20 3000 400 20 0 5"));
}

TEST(ProcessStat, AllowedCpusAreCounted) {
  EXPECT_EQ(parse_allowed_cpus("Name:\tx\nCpus_allowed:\tb\nCpus_allowed_list:\t0-1,3\nMems_allowed:\t1\n"), 3);
  EXPECT_FALSE(parse_allowed_cpus("Name:\tx\nCpus_allowed_list:\tall\n"));
  EXPECT_FALSE(parse_allowed_cpus(""));
}

TEST(GrowingSum, GrowsAsItsSumsGrow) {
  GrowingSum sum;
  EXPECT_EQ(sum.after(100), 100);
  EXPECT_EQ(sum.after(130), 130);
}

TEST(GrowingSum, AProcessThatIsMissedOnceIsNotCountedTwice) {
  GrowingSum sum;
  sum.after(1000);
  EXPECT_EQ(sum.after(100), 1000);
  EXPECT_EQ(sum.after(1010), 1010);
}

TEST(GrowingSum, GoesOnAfterAProcessHasLeftForGood) {
  GrowingSum sum;
  sum.after(1000);
  EXPECT_EQ(sum.after(100), 1000);
  EXPECT_EQ(sum.after(101), 1000);
  EXPECT_EQ(sum.after(102), 1000);
  EXPECT_EQ(sum.after(110), 1008);
}

// A machine of files, with a web server 10 and its descendants.
class TreeOfFiles : public testing::Test {
 protected:
  TreeOfFiles() {
    std::string name = testing::TempDir() + "tree.XXXXXX";
    root_ = mkdtemp(name.data());
    put("web.pid", "10\n");
    put_process("10", 'S', "100 0 0 0", "11 12");
    put_process("11", 'R', "50 7 0 0", "13");
    put_process("12", 'D', "30 0 5 5", "");
    put_process("13", 'R', "3 0 0 0", "");
    put_process("14", 'R', "999 0 0 0", "");  // another's
    put("proc/10/status", "Cpus_allowed_list:\t0-3\n");
    put("proc/stat", "btime 1796024456\nprocs_running 9\n");
  }
  ~TreeOfFiles() override { std::filesystem::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  void put(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }
  void put_process(const std::string& id, char state, const std::string& ticks, const std::string& children,
                   const std::string& threads = "1") const {
    put("proc/" + id + "/stat",
        id + " (mapserv) " + state + " 1 1 1 0 -1 0 0 0 0 0 " + ticks + " 20 0 " + threads + " 0 5\n");
    put("proc/" + id + "/task/" + id + "/children", children);
  }
  Sampler sampler() const {
    return Sampler({path("proc"), path("cgroup")}, Scope{Scope::Kind::tree, "", path("web.pid")}, path("drain"));
  }
  // Of one sample, whose warnings are kept.
  Sample sample(Sampler& sampler) {
    testing::internal::CaptureStderr();
    Sample taken = sampler.take(at(now_ += 1));
    said_ = testing::internal::GetCapturedStderr();
    return taken;
  }

  std::string root_, said_;
  double now_ = 0;
};

TEST_F(TreeOfFiles, CountsTheServerAndAllItsDescendants) {
  Sampler sampler = this->sampler();
  const Sample taken = sample(sampler);
  EXPECT_EQ(taken.running, 3);
  EXPECT_EQ(taken.group_cpu_seconds, 200.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(taken.cores, 4);
  EXPECT_EQ(taken.boot_time, 1796024456);
  EXPECT_EQ(said_, "");
}

TEST_F(TreeOfFiles, CountsEachThreadOfAProcess) {
  put_process("12", 'S', "30 0 5 5", "", "2");
  put("proc/12/task/12/stat", "12 (x) S 1 1");
  put("proc/12/task/20/stat", "20 (x) R 1 1");
  put("proc/12/task/20/children", "14");
  Sampler sampler = this->sampler();
  EXPECT_EQ(sample(sampler).running, 4);
}

TEST_F(TreeOfFiles, AChildThatEndsLeavesItsTimeToItsParent) {
  Sampler sampler = this->sampler();
  const double before = *sample(sampler).group_cpu_seconds;
  put_process("11", 'R', "50 7 3 0", "");
  EXPECT_EQ(sample(sampler).group_cpu_seconds, before);
}

TEST_F(TreeOfFiles, AMissingPidFileIsMissingMeasuresAndOneWarning) {
  std::filesystem::remove(path("web.pid"));
  Sampler sampler = this->sampler();
  const Sample taken = sample(sampler);
  EXPECT_FALSE(taken.running);
  EXPECT_FALSE(taken.group_cpu_seconds);
  EXPECT_FALSE(taken.cores);
  EXPECT_FALSE(taken.load);
  EXPECT_EQ(said_, "warning: a measure is missing file=" + path("web.pid") + " cause=\"cannot open " + path("web.pid") +
                       ": No such file or directory\"\n");
  sample(sampler);
  EXPECT_EQ(said_, "");
}

TEST_F(TreeOfFiles, AServerThatHasEndedIsNoIdleHost) {
  put("web.pid", "77\n");
  Sampler sampler = this->sampler();
  EXPECT_FALSE(sample(sampler).running);
  EXPECT_EQ(said_, "warning: a measure is missing file=" + path("web.pid") + " cause=\"there is no process 77\"\n");
}

TEST_F(TreeOfFiles, AFileWithoutAnIdIsNamed) {
  for (const char* bad : {"", "0\n", "-1\n", "nginx\n", "99999999\n"}) {
    put("web.pid", bad);
    const auto id = read_pid_file(path("web.pid"));
    ASSERT_FALSE(id) << bad;
    EXPECT_NE(id.error().what.find("wanted a process id"), std::string::npos) << id.error().what;
  }
}

TEST_F(TreeOfFiles, TheQuotaOfTheServersOwnGroupBoundsItsCores) {
  put("cgroup/cgroup.controllers", "cpu\n");
  put("cgroup/web/cpu.max", "150000 100000\n");
  put("proc/10/cgroup", "0::/web\n");
  Sampler sampler = this->sampler();
  EXPECT_EQ(sample(sampler).cores, 1.5);
}

// A child that only waits, and a grandchild that is stopped: both in no state that counts.
TEST(RealTree, SeesDescendantsAndTheTimeOfTheDead) {
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      // Burns CPU until half a second of it is used, by its own clock.
      while (std::clock() < CLOCKS_PER_SEC / 2) {
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(grandchild, &status, 0);
    char byte = 'x';
    (void)!::write(go[1], &byte, 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(go[0], &byte, 1), 1);
  const auto tree = read_tree(TreeFiles{"/proc", 0}, child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(go[0]);
  ::close(go[1]);
  ASSERT_TRUE(tree);
  EXPECT_GE(tree->ticks, 0.4 * static_cast<double>(::sysconf(_SC_CLK_TCK)));
  EXPECT_FALSE(read_tree(TreeFiles{"/proc", 0}, child));
}

}  // namespace
}  // namespace loadprobe
