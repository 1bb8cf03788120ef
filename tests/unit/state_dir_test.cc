// SPDX-License-Identifier: MIT
#include "balance/table/state_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loadprobe/base/file.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

const std::string kConfig = "/etc/balance/balance.conf";

StateRoots roots_in(const ScratchDir& dir) {
  return StateRoots{.standard = dir / "run/balance", .temporary = dir / "tmp", .user = geteuid()};
}

std::string own(const ScratchDir& dir) { return dir / ("tmp/balance-" + std::to_string(geteuid())); }

TEST(StateDir, FilesAreNamedAfterTheConfiguration) {
  const StateFiles files = state_files("/run/balance", kConfig);
  EXPECT_EQ(files.table, "/run/balance/balance.conf.table");
  EXPECT_EQ(files.lease, "/run/balance/balance.conf.lease");
  EXPECT_EQ(files.starting, "/run/balance/balance.conf.starting");
  EXPECT_EQ(state_files("/s", "plain").table, "/s/plain.table");
}

TEST(StateDir, TheStandardOneIsMadeIfItCanBe) {
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "run").c_str(), 0755), 0);
  const base::Result<StateFiles> files = find_state("", kConfig, roots_in(dir));
  ASSERT_TRUE(files);
  EXPECT_EQ(files->table, dir / "run/balance/balance.conf.table");
}

TEST(StateDir, WhereItCannotBeMadeAPrivateOneTakesItsPlace) {
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  const base::Result<StateFiles> files = find_state("", kConfig, roots_in(dir));
  ASSERT_TRUE(files);
  EXPECT_EQ(files->table, own(dir) + "/balance.conf.table");
  struct stat status = {};
  ASSERT_EQ(stat(own(dir).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
}

TEST(StateDir, APrivateOneOpenToOthersIsRefused) {
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  ASSERT_EQ(mkdir(own(dir).c_str(), 0700), 0);
  ASSERT_EQ(chmod(own(dir).c_str(), 0750), 0);
  const base::Result<StateFiles> files = find_state("", kConfig, roots_in(dir));
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().what, own(dir) +
                                    ": is open to others or has other permissions; wanted a directory of our own with "
                                    "mode 0700");
}

TEST(StateDir, APrivateOneThatIsALinkIsRefused) {
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  ASSERT_EQ(mkdir((dir / "elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(symlink((dir / "elsewhere").c_str(), own(dir).c_str()), 0);
  EXPECT_FALSE(find_state("", kConfig, roots_in(dir)));
}

TEST(StateDir, APrivateOneThatIsAFileIsRefused) {
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  ASSERT_TRUE(base::write_file(own(dir), ""));
  EXPECT_FALSE(find_state("", kConfig, roots_in(dir)));
}

TEST(StateDir, APrivateOneOfSomebodyElseIsRefused) {
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  StateRoots roots = roots_in(dir);
  roots.user = geteuid() + 1;
  ASSERT_EQ(mkdir((dir / ("tmp/balance-" + std::to_string(roots.user))).c_str(), 0700), 0);
  EXPECT_FALSE(find_state("", kConfig, roots));
}

TEST(StateDir, AConfiguredOneIsThatOrAnError) {
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  const base::Result<StateFiles> made = find_state(dir / "mine", kConfig, roots_in(dir));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->lease, dir / "mine/balance.conf.lease");
  const base::Result<StateFiles> impossible = find_state(dir / "no/such", kConfig, roots_in(dir));
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error().what, "state-dir: cannot make " + (dir / "no/such") + ": No such file or directory");
  ASSERT_TRUE(base::write_file(dir / "file", ""));
  EXPECT_FALSE(find_state(dir / "file", kConfig, roots_in(dir)));
}

TEST(StateDir, OnlyPlacesThatHoldATableAreListed) {
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  EXPECT_TRUE(existing_states("", kConfig, roots_in(dir)).empty());
  ASSERT_EQ(mkdir(own(dir).c_str(), 0700), 0);
  EXPECT_TRUE(existing_states("", kConfig, roots_in(dir)).empty());
  ASSERT_TRUE(base::write_file(own(dir) + "/balance.conf.table", "x"));
  ASSERT_EQ(existing_states("", kConfig, roots_in(dir)).size(), 1U);
  EXPECT_EQ(existing_states("", kConfig, roots_in(dir))[0].table, own(dir) + "/balance.conf.table");
  EXPECT_TRUE(existing_states(dir / "configured", kConfig, roots_in(dir)).empty());
  ASSERT_EQ(chmod(own(dir).c_str(), 0755), 0);
  EXPECT_TRUE(existing_states("", kConfig, roots_in(dir)).empty());
}

TEST(StateDir, RootLooksIntoTheDirectoriesOfAllUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give directories to others";
  ScratchDir dir;
  ASSERT_EQ(mkdir((dir / "tmp").c_str(), 0755), 0);
  for (const unsigned user : {33U, 65534U}) {
    const std::string directory = dir / ("tmp/balance-" + std::to_string(user));
    ASSERT_EQ(mkdir(directory.c_str(), 0700), 0);
    ASSERT_TRUE(base::write_file(directory + "/balance.conf.table", "x"));
    ASSERT_EQ(chown(directory.c_str(), user, user), 0);
  }
  ASSERT_EQ(mkdir((dir / "tmp/balance-34").c_str(), 0700), 0);  // says 34, is root's
  ASSERT_TRUE(base::write_file(dir / "tmp/balance-34/balance.conf.table", "x"));
  const std::vector<StateFiles> found = existing_states("", kConfig, roots_in(dir));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].table, dir / "tmp/balance-33/balance.conf.table");
  EXPECT_EQ(found[1].table, dir / "tmp/balance-65534/balance.conf.table");
}

}  // namespace
}  // namespace balance
