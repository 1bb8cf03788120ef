// SPDX-License-Identifier: MIT
#include "balance/table/old_clients.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "balance/table/affinity.h"
#include "loadprobe/base/file.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

using Paths = std::vector<std::string>;
constexpr base::Instant kNow{base::Seconds{5000}};
constexpr base::Seconds kMinute{60};
constexpr double kWall = 1796036400, kDay = 86400;

class OldClientsTest : public testing::Test {
 protected:
  Config config_of(const std::string& host, const std::string& name = "x.conf") {
    return *parse_config("sticky = client-wild\nhost = " + host + " http://" + host + ".example.org\n", folder_ / name);
  }
  // A file of clients whose last mark is so old.
  std::string made(const Config& config, double seconds_ago) {
    EXPECT_TRUE(make_clients(files_, config, "boot", {}));
    const std::string path = clients_file(files_, config);
    mark(path, kWall - seconds_ago);
    return path;
  }
  static void mark(const std::string& path, double wall) {
    const timespec time{.tv_sec = static_cast<time_t>(wall), .tv_nsec = 0};
    const timespec times[2] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  Paths turn(double minutes, double wall = kWall) {
    return old_.turn(files_, now_, base::Seconds{wall}, kNow + minutes * kMinute);
  }
  static bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

  ScratchDir folder_;
  StateFiles files_ = state_files(folder_.path(), "/etc/x.conf");
  Config now_ = config_of("pinchot");
  OldClients old_;
};

// They stayed for ever.
TEST_F(OldClientsTest, ThoseOfAFormerSetOfHostsGo) {
  const std::string old = made(config_of("leopold"), 3 * kDay), used = made(now_, 3 * kDay);
  EXPECT_EQ(turn(0), Paths{});
  EXPECT_EQ(turn(9), Paths{});
  EXPECT_TRUE(is_there(old));
  EXPECT_EQ(turn(10), Paths{old});
  EXPECT_FALSE(is_there(old));
  EXPECT_FALSE(is_there(old + ".lease"));
  EXPECT_TRUE(is_there(used));
  EXPECT_EQ(turn(20), Paths{});
}

TEST_F(OldClientsTest, TheOneInUseIsMarkedOnceAMinute) {
  const std::string used = made(now_, 3 * kDay);
  turn(0);
  struct stat status = {};
  ASSERT_EQ(stat(used.c_str(), &status), 0);
  EXPECT_NE(static_cast<double>(status.st_mtim.tv_sec), kWall - 3 * kDay);
  mark(used, kWall);
  turn(0.9);
  ASSERT_EQ(stat(used.c_str(), &status), 0);
  EXPECT_EQ(static_cast<double>(status.st_mtim.tv_sec), kWall);
}

TEST_F(OldClientsTest, ThoseOfOthersStay) {
  const std::string of_another = made(config_of("leopold", "another.conf"), 30 * kDay);
  const std::string of_nobody = made(config_of("darwin"), 30 * kDay);
  ASSERT_TRUE(base::write_file(of_nobody + ".lease", "17\n"));
  const std::string young = made(config_of("capra"), 1.9 * kDay);
  const Paths no_such_names{"0123456789abcdef.client", "0123456789abcdeg.clients", "x0123456789abcdef.clients",
                            "x.conf.table"};
  for (const std::string& name : no_such_names) {
    ASSERT_TRUE(base::write_file(folder_ / name, ""));
    ASSERT_TRUE(base::write_file(folder_ / (name + ".lease"), "17 " + now_.file + "\n"));
    mark(folder_ / name, kWall - 30 * kDay);
  }
  ASSERT_EQ(symlink("/etc/passwd", (folder_ / "0123456789abcdef.clients").c_str()), 0);
  ASSERT_TRUE(base::write_file(folder_ / "0123456789abcdef.clients.lease", "17 " + now_.file + "\n"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(turn(i * 10), Paths{});
  EXPECT_TRUE(is_there(of_another) && is_there(of_nobody) && is_there(young));
}

TEST_F(OldClientsTest, ThoseOfAnotherUserStay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const std::string old = made(config_of("leopold"), 30 * kDay);
  ASSERT_EQ(chown(old.c_str(), 1001, 1001), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(turn(i * 10), Paths{});
  EXPECT_TRUE(is_there(old));
}

// The first word of a time server may be years.
TEST_F(OldClientsTest, AClockThatIsSetMakesNoFileOld) {
  const std::string used_by_another = made(config_of("leopold"), 0);
  EXPECT_EQ(turn(0, kWall), Paths{});
  mark(used_by_another, kWall + 60);
  EXPECT_EQ(turn(10, kWall + 365 * kDay), Paths{});  // marked since the look before
  mark(used_by_another, kWall + 365 * kDay + 60);
  EXPECT_EQ(turn(20, kWall + 365 * kDay + 600), Paths{});
  EXPECT_TRUE(is_there(used_by_another));
}

TEST_F(OldClientsTest, GoAlsoWhereNobodyIsStickyAnyMore) {
  const std::string old = made(now_, 3 * kDay);
  now_ = *parse_config("host = pinchot http://pinchot.example.org\n", now_.file);
  EXPECT_EQ(turn(0), Paths{});
  EXPECT_EQ(turn(10), Paths{old});
}

}  // namespace
}  // namespace balance
