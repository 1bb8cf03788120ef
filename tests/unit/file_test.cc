// SPDX-License-Identifier: MIT
#include "loadprobe/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "loadprobe/base/clock.h"
#include "loadprobe/base/fd.h"

namespace base {
namespace {

class File : public testing::Test {
 protected:
  File() {
    std::string name = testing::TempDir() + "file_test.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~File() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(File, WrittenContentReadsBack) {
  ASSERT_TRUE(write_file(path("a"), std::string(100000, 'x')));
  EXPECT_EQ(*read_file(path("a")), std::string(100000, 'x'));
}

TEST_F(File, WritingReplacesAndLeavesNoNeighbour) {
  ASSERT_TRUE(write_file(path("a"), "one"));
  ASSERT_TRUE(write_file(path("a"), "two", 0600));
  EXPECT_EQ(*read_file(path("a")), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  struct stat status {};
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST_F(File, AFileLargerThanTheBoundIsAnError) {
  ASSERT_TRUE(write_file(path("a"), "12345"));
  EXPECT_TRUE(read_file(path("a"), 5));
  EXPECT_EQ(read_file(path("a"), 4).error().what, path("a") + " is larger than wanted: more than 4 bytes");
}

TEST_F(File, AMissingOneIsNamedWithTheReason) {
  EXPECT_EQ(read_file(path("none")).error().what, "cannot open " + path("none") + ": No such file or directory");
  EXPECT_EQ(write_file(path("none/a"), "").error().what,
            "cannot write beside " + path("none/a") + ": No such file or directory");
}

TEST_F(File, ReadingAFolderIsAnError) { EXPECT_EQ(read_file(folder_).error().what, folder_ + " is no regular file"); }

// Nobody writes to it, so opening or reading it would never end.
TEST_F(File, AFifoIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_file(path("fifo")).error().what, path("fifo") + " is no regular file");
}

TEST_F(File, AFailedReplacementLeavesNoNeighbour) {
  ASSERT_TRUE(std::filesystem::create_directory(path("a")));
  EXPECT_FALSE(write_file(path("a"), "x"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST(ProcFile, HasNoSizeAndIsReadWhole) { EXPECT_EQ(boot_id().size(), 36U); }

TEST(Fd, IsCloseOnExecAndClosedByItsOwner) {
  int number = -1;
  {
    Result<Fd> opened = Fd::open("/dev/null", O_RDONLY);
    ASSERT_TRUE(opened);
    Fd fd = std::move(*opened);
    EXPECT_FALSE(*opened);
    number = fd.get();
    EXPECT_EQ(fcntl(number, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  }
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST(Clock, NeverGoesBack) {
  const Instant first = now();
  EXPECT_LE(first, now());
}

}  // namespace
}  // namespace base
