// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "balance/watch/log_file.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/file.h"
#include "loadprobe/base/log.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

constexpr std::size_t kMost = std::size_t{4} << 20;

// Standard error comes back at the end of the test.
class WatchLogFile : public testing::Test {
 protected:
  void TearDown() override { dup2(stderr_.get(), STDERR_FILENO); }
  static std::string content(const std::string& path) {
    const base::Result<std::string> text = base::read_file(path, kMost);
    return text ? *text : text.error().what;
  }
  ScratchDir dir_;
  base::Fd stderr_{dup(STDERR_FILENO)};
};

TEST_F(WatchLogFile, IsAppendedToAndSharedWithTheGroup) {
  ASSERT_TRUE(base::write_file(dir_ / "l", "before\n", 0600));
  const base::Result<LogFile> log = LogFile::open(dir_ / "l");
  ASSERT_TRUE(log) << log.error().what;
  base::log(base::Level::info, "host up", {{"host", "darwin"}});
  const std::string text = content(dir_ / "l");
  EXPECT_EQ(text.substr(0, 7), "before\n");
  EXPECT_NE(text.find("info: host up host=darwin\n"), std::string::npos);
  struct stat status = {};
  ASSERT_EQ(stat((dir_ / "l").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0660U);
}

TEST_F(WatchLogFile, FollowsNoLink) {
  ASSERT_EQ(symlink((dir_ / "target").c_str(), (dir_ / "l").c_str()), 0);
  EXPECT_FALSE(LogFile::open(dir_ / "l"));
  EXPECT_NE(access((dir_ / "target").c_str(), F_OK), 0);
}

TEST_F(WatchLogFile, ThatGrewTooLargeIsPutAside) {
  ASSERT_TRUE(base::write_file(dir_ / "l", std::string(LogFile::kMostBytes + 1, 'x'), 0600));
  base::Result<LogFile> log = LogFile::open(dir_ / "l");
  ASSERT_TRUE(log);
  log->look();
  base::log(base::Level::info, "new", {});
  EXPECT_EQ(content(dir_ / "l.old").size(), static_cast<std::size_t>(LogFile::kMostBytes) + 1);
  EXPECT_NE(content(dir_ / "l").find("info: new\n"), std::string::npos);
}

TEST_F(WatchLogFile, ThatWasMovedAwayIsMadeAnew) {
  base::Result<LogFile> log = LogFile::open(dir_ / "l");
  ASSERT_TRUE(log);
  ASSERT_EQ(std::rename((dir_ / "l").c_str(), (dir_ / "moved").c_str()), 0);
  log->look();
  base::log(base::Level::info, "new", {});
  EXPECT_EQ(content(dir_ / "moved"), "");
  EXPECT_NE(content(dir_ / "l").find("info: new\n"), std::string::npos);
}

}  // namespace
}  // namespace balance
