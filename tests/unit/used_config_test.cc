// SPDX-License-Identifier: MIT
#include "balance/table/used_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "balance/ctl/in_use.h"
#include "balance/ctl/view.h"
#include "balance/table/config_file.h"
#include "balance/table/table.h"
#include "loadprobe/base/file.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

constexpr base::Instant kStart{base::Seconds{100}};
const std::string kOneHost = "host = pinchot http://pinchot.example.org:8080\n";
const std::string kFaulty = "wieght = 2\n";

class UsedConfigOf : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(mkdir((dir_ / "run").c_str(), 0755), 0);
    ASSERT_EQ(mkdir((dir_ / "tmp").c_str(), 0755), 0);
    ASSERT_EQ(mkdir((dir_ / "run/balance").c_str(), 0755), 0);
    write(kOneHost);
  }
  void write(const std::string& text) { ASSERT_TRUE(base::write_file(file_, text)); }
  base::Status keep(const std::string& text) { return keep_used_config(files_, file_, text); }
  std::string why_not(unsigned user = geteuid()) {
    const base::Result<UsedConfig> used = read_used_config(files_, file_, user);
    return used ? "" : used.error().what;
  }
  base::Result<ConfigFile> open() { return ConfigFile::open_or_used(file_, kStart, roots_); }

  ScratchDir dir_;
  StateRoots roots_{
      .standard = dir_ / "run/balance", .kept = dir_ / "lib", .temporary = dir_ / "tmp", .user = geteuid()};
  std::string file_ = dir_ / "x.conf";
  StateFiles files_ = state_files(dir_ / "run/balance", file_);
};

TEST_F(UsedConfigOf, ComesBackByteForByteWithTheSameFingerprint) {
  for (const std::string& text : {kOneHost, "\xEF\xBB\xBF" + kOneHost, kOneHost + "# no line end", "\r\n" + kOneHost}) {
    ASSERT_TRUE(keep(text));
    const base::Result<UsedConfig> used = read_used_config(files_, file_, geteuid());
    ASSERT_TRUE(used) << used.error().what;
    EXPECT_EQ(used->text, text);
    EXPECT_EQ(used->config.fingerprint, parse_config(text, file_)->fingerprint);
    EXPECT_EQ(used->config.file, file_);
  }
}

TEST_F(UsedConfigOf, IsReadableForItsGroupAndWritableForItsOwnerAlone) {
  ASSERT_TRUE(keep(kOneHost));
  struct stat status = {};
  ASSERT_EQ(stat(files_.used.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST_F(UsedConfigOf, IsWrittenAnewOnlyWhereItChanges) {
  ASSERT_TRUE(keep(kOneHost));
  struct stat before = {}, same = {}, after = {};
  ASSERT_EQ(stat(files_.used.c_str(), &before), 0);
  ASSERT_TRUE(keep(kOneHost));
  ASSERT_EQ(stat(files_.used.c_str(), &same), 0);
  ASSERT_TRUE(keep(kOneHost + "# more\n"));
  ASSERT_EQ(stat(files_.used.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, same.st_ino);
  EXPECT_NE(before.st_ino, after.st_ino);
}

// Else clients would be sent by a configuration that nobody goes by any more.
TEST_F(UsedConfigOf, AnOlderOneGoesWhereItCannotBeReplaced) {
  ASSERT_TRUE(keep(kOneHost));
  ASSERT_EQ(mkdir((files_.used + ".new").c_str(), 0755), 0);
  EXPECT_FALSE(keep(kOneHost + "# more\n"));
  EXPECT_NE(access(files_.used.c_str(), F_OK), 0);
}

TEST_F(UsedConfigOf, ThatOfAnotherConfigurationIsRefused) {
  ASSERT_TRUE(keep_used_config(files_, dir_ / "other/x.conf", kOneHost));
  EXPECT_EQ(why_not(), files_.used + ": is no copy of " + file_);
}

TEST_F(UsedConfigOf, TheSameFileByAnotherPathIsTheSame) {
  ASSERT_EQ(symlink(file_.c_str(), (dir_ / "link.conf").c_str()), 0);
  ASSERT_TRUE(keep(kOneHost));
  EXPECT_TRUE(read_used_config(files_, dir_ / "link.conf", geteuid()));
}

TEST_F(UsedConfigOf, OneThatOthersMayWriteIsRefused) {
  ASSERT_TRUE(keep(kOneHost));
  ASSERT_EQ(chmod(files_.used.c_str(), 0660), 0);
  EXPECT_EQ(why_not(), files_.used + ": may be written by others; wanted its owner alone");
}

TEST_F(UsedConfigOf, ALinkAndAPipeAreRefused) {
  ASSERT_TRUE(keep(kOneHost));
  ASSERT_EQ(rename(files_.used.c_str(), (dir_ / "elsewhere").c_str()), 0);
  ASSERT_EQ(symlink((dir_ / "elsewhere").c_str(), files_.used.c_str()), 0);
  EXPECT_NE(why_not(), "");
  ASSERT_EQ(unlink(files_.used.c_str()), 0);
  ASSERT_EQ(mkfifo(files_.used.c_str(), 0640), 0);
  EXPECT_EQ(why_not(), files_.used + ": is no regular file; wanted one");
}

// Whoever is in the group that shares the table could else send clients where they like.
TEST_F(UsedConfigOf, OneOfAUserWhoDoesNotOwnTheFolderIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_TRUE(keep(kOneHost));
  ASSERT_EQ(chown((dir_ / "run/balance").c_str(), 1001, 1001), 0);
  ASSERT_EQ(chown(files_.used.c_str(), 1002, 1001), 0);
  EXPECT_EQ(why_not(1002), files_.used + ": belongs to user 1002; wanted root or the owner of its folder");
  ASSERT_EQ(chown(files_.used.c_str(), 1001, 1001), 0);
  EXPECT_EQ(why_not(1002), "");
  ASSERT_EQ(chown((dir_ / "run/balance").c_str(), 0, 1001), 0);
  EXPECT_EQ(why_not(1001), "");
  EXPECT_NE(why_not(1002), "");
}

// One cut in the middle of a name would send clients to a host that nobody had configured.
TEST_F(UsedConfigOf, EveryTruncationIsRefused) {
  ASSERT_TRUE(keep(kOneHost));
  const std::string whole = *base::read_file(files_.used);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(base::write_file(files_.used, whole.substr(0, length), 0640));
    EXPECT_FALSE(read_used_config(files_, file_, geteuid())) << length;
  }
  EXPECT_EQ(why_not(), files_.used + ": is damaged");
  ASSERT_TRUE(base::write_file(files_.used, std::string(5 << 20, 'x'), 0640));
  EXPECT_NE(why_not(), "");
}

// A half-edited balance.conf gave every client 503.
TEST_F(UsedConfigOf, TakesThePlaceOfAFaultyFile) {
  ASSERT_TRUE(keep(kOneHost));
  for (const std::string& text : {kOneHost + kFaulty, std::string(), kOneHost.substr(0, 12), std::string("\x01")}) {
    write(text);
    const base::Result<ConfigFile> file = open();
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_TRUE(file->is_faulty());
    EXPECT_EQ(file->error().what.substr(0, file_.size()), file_);
    EXPECT_EQ(file->text(), kOneHost);
    EXPECT_EQ(file->config().hosts.front().name, "pinchot");
  }
  ASSERT_EQ(unlink(file_.c_str()), 0);
  ASSERT_TRUE(open());
}

TEST_F(UsedConfigOf, GivesWayOnceTheFileIsInOrder) {
  ASSERT_TRUE(keep(kOneHost));
  write(kOneHost + kFaulty);
  base::Result<ConfigFile> file = open();
  ASSERT_TRUE(file);
  write(kOneHost + "host = leopold http://leopold.example.org\n");
  EXPECT_EQ(file->reload(kStart), Refresh::changed);
  EXPECT_FALSE(file->is_faulty());
  EXPECT_EQ(file->config().hosts.size(), 2U);
}

TEST_F(UsedConfigOf, IsNotReadWhereTheFileIsInOrder) {
  ASSERT_TRUE(keep(kOneHost));
  write("host = leopold http://leopold.example.org\n");
  const base::Result<ConfigFile> file = open();
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->is_faulty());
  EXPECT_EQ(file->config().hosts.front().name, "leopold");
}

TEST_F(UsedConfigOf, WithoutOneTheFaultsAreAllThatIsSaid) {
  write(kFaulty);
  const base::Result<ConfigFile> file = open();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().fault, base::Fault::usage);
  EXPECT_EQ(file.error().what, parse_config(kFaulty, file_).error().what);
}

TEST_F(UsedConfigOf, OneThatIsRefusedIsNamedBehindTheFaults) {
  ASSERT_TRUE(base::write_file(files_.used, "nonsense", 0640));
  write(kFaulty);
  const base::Result<ConfigFile> file = open();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().what,
            parse_config(kFaulty, file_).error().what + "\n" + files_.used + ": is no copy of " + file_);
}

TEST_F(UsedConfigOf, IsLookedForInTheStateDirThatTheFaultyTextNames) {
  const std::string elsewhere = dir_ / "elsewhere";
  ASSERT_EQ(mkdir(elsewhere.c_str(), 0755), 0);
  const std::string text = "state-dir = " + elsewhere + "\n" + kOneHost;
  ASSERT_TRUE(keep_used_config(state_files(elsewhere, file_), file_, text));
  write(text + kFaulty);
  ASSERT_TRUE(open());
  EXPECT_EQ(open()->config().state_dir, elsewhere);
  // The line may be the one that was edited; nothing is made.
  ASSERT_TRUE(keep(kOneHost));
  write("state-dir = " + (dir_ / "nowhere") + "\n" + kOneHost + kFaulty);
  ASSERT_TRUE(open());
  EXPECT_NE(access((dir_ / "nowhere").c_str(), F_OK), 0);
}

TEST(StateDirIn, IsThatOfTheLastLineInOrder) {
  EXPECT_EQ(state_dir_in(""), "");
  EXPECT_EQ(state_dir_in("state-dir = run\n"), "");
  EXPECT_EQ(state_dir_in("=\nstate-dir = /a # here\n[probe\nstate-dir /b\n"), "/a");
  EXPECT_EQ(state_dir_in("[probe]\nstate-dir = /a\n"), "");
}

// A CGI process a request filled the error log.
TEST_F(UsedConfigOf, FaultsAreToldEveryTenSeconds) {
  EXPECT_TRUE(is_time_to_tell(files_, base::Seconds{2e9}));
  struct stat status = {};
  ASSERT_EQ(stat(files_.told.c_str(), &status), 0);
  const base::Seconds told{static_cast<double>(status.st_mtim.tv_sec)};
  EXPECT_FALSE(is_time_to_tell(files_, told));
  EXPECT_FALSE(is_time_to_tell(files_, told + base::Seconds{9}));
  EXPECT_TRUE(is_time_to_tell(files_, told + base::Seconds{10}));
  EXPECT_TRUE(is_time_to_tell(files_, told - base::Seconds{3600}));  // the clock was set back
  EXPECT_TRUE(is_time_to_tell(state_files(dir_ / "nowhere", file_), told));
}

// `balancectl status` showed the faults alone.
TEST_F(UsedConfigOf, IsWhatBalancectlShowsWhileTheFileHasFaults) {
  const Config config = *parse_config(kOneHost, file_);
  ASSERT_TRUE(Table::create(files_.table, {config.fingerprint, 1, "boot"}));
  ASSERT_TRUE(keep(kOneHost));
  write(kOneHost + kFaulty + "moed = relay\n");
  const base::Result<InUse> in_use = find_in_use(file_, roots_, "boot");
  ASSERT_TRUE(in_use) << in_use.error().what;
  EXPECT_EQ(in_use->config.fingerprint, config.fingerprint);
  ASSERT_EQ(in_use->faults.size(), 2U);
  EXPECT_EQ(in_use->faults[1].substr(0, (file_ + ":3: ").size()), file_ + ":3: ");
  EXPECT_EQ(faults_text(in_use->faults),
            "config     HAS 2 FAULTS, which 'balancectl check' names; what follows is of the one that is in use\n");
  write(kOneHost);
  EXPECT_TRUE(find_in_use(file_, roots_, "boot")->faults.empty());
  write(kFaulty);
  ASSERT_EQ(unlink(files_.used.c_str()), 0);
  EXPECT_FALSE(find_in_use(file_, roots_, "boot"));
}

}  // namespace
}  // namespace balance
