// SPDX-License-Identifier: MIT
#include "balance/table/config_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loadprobe/base/file.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

constexpr base::Instant kStart{base::Seconds{100}};
constexpr base::Seconds kSecond{1};

const std::string kOneHost = "host = pinchot http://pinchot.example.org:8080\n";
const std::string kTwoHosts = kOneHost + "host = leopold http://leopold.example.org:8080\n";

// Writes in place and sets the file's time, so that nothing depends on the clock's grain.
void write(const std::string& path, const std::string& text, time_t modified) {
  ASSERT_TRUE(base::write_file(path, text));
  const timespec times[2] = {{.tv_sec = modified, .tv_nsec = 0}, {.tv_sec = modified, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

ConfigFile opened(const std::string& path) {
  base::Result<ConfigFile> file = ConfigFile::open(path, kStart);
  EXPECT_TRUE(file) << (file ? "" : file.error().what);
  return *std::move(file);
}

TEST(ConfigFile, IsNamedByTheOptionElseTheEnvironmentElseTheDefault) {
  EXPECT_EQ(config_file_named("/a.conf", "/b.conf"), "/a.conf");
  EXPECT_EQ(config_file_named("", "/b.conf"), "/b.conf");
  EXPECT_EQ(config_file_named("", ""), default_config_file());
  EXPECT_EQ(config_file_named("", nullptr), default_config_file());
  EXPECT_EQ(config_file_named("a.conf", nullptr).front(), '/');
}

TEST(ConfigFile, OneThatIsNotThereIsAUsageError) {
  ScratchDir dir;
  const base::Result<Config> config = read_config(dir / "none.conf");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().fault, base::Fault::usage);
  EXPECT_EQ(config.error().what, "cannot open " + (dir / "none.conf") + ": No such file or directory");
}

TEST(ConfigFile, AChangeCountsWhenItIsTheSameAQuarterOfASecondLater) {
  ScratchDir dir;
  write(dir / "c", kOneHost, 1000);
  ConfigFile file = opened(dir / "c");
  ASSERT_EQ(file.config().hosts.size(), 1U);
  write(dir / "c", kTwoHosts, 2000);
  EXPECT_EQ(file.refresh(kStart + 0.2 * kSecond), Refresh::unchanged);
  EXPECT_EQ(file.refresh(kStart + 0.25 * kSecond), Refresh::unchanged);
  EXPECT_EQ(file.refresh(kStart + 0.4 * kSecond), Refresh::unchanged);
  EXPECT_EQ(file.config().hosts.size(), 1U);
  EXPECT_EQ(file.refresh(kStart + 0.5 * kSecond), Refresh::changed);
  EXPECT_EQ(file.config().hosts.size(), 2U);
  EXPECT_EQ(file.refresh(kStart + 2 * kSecond), Refresh::unchanged);
}

// A file cut in the middle of a name sent requests to a host that nobody had configured.
TEST(ConfigFile, OneThatIsStillBeingWrittenIsNotTaken) {
  ScratchDir dir;
  write(dir / "c", kOneHost, 1000);
  ConfigFile file = opened(dir / "c");
  for (int i = 1; i <= 4; ++i) {
    write(dir / "c", kTwoHosts.substr(0, kTwoHosts.size() - 4 + static_cast<std::size_t>(i)), 1000 + i);
    EXPECT_EQ(file.refresh(kStart + i * kSecond), Refresh::unchanged);
  }
  EXPECT_EQ(file.refresh(kStart + 5 * kSecond), Refresh::changed);
  EXPECT_EQ(file.config().hosts.size(), 2U);
}

TEST(ConfigFile, TheSameTextWithAnotherTimeIsNoChange) {
  ScratchDir dir;
  write(dir / "c", kOneHost, 1000);
  ConfigFile file = opened(dir / "c");
  write(dir / "c", kOneHost, 2000);
  EXPECT_EQ(file.refresh(kStart + kSecond), Refresh::unchanged);
}

TEST(ConfigFile, AFaultyOneIsToldOnceAndTheOldOneStays) {
  ScratchDir dir;
  write(dir / "c", kOneHost, 1000);
  ConfigFile file = opened(dir / "c");
  write(dir / "c", kOneHost + "wieght = 2\n", 2000);
  EXPECT_EQ(file.refresh(kStart + 0.5 * kSecond), Refresh::unchanged);
  EXPECT_EQ(file.refresh(kStart + kSecond), Refresh::faulty);
  EXPECT_EQ(file.config().hosts.size(), 1U);
  EXPECT_EQ(file.error().what.substr(0, (dir / "c:2: ").size()), dir / "c:2: ");
  EXPECT_EQ(file.refresh(kStart + 2 * kSecond), Refresh::unchanged);
  write(dir / "c", kTwoHosts, 3000);
  EXPECT_EQ(file.refresh(kStart + 2.5 * kSecond), Refresh::unchanged);
  EXPECT_EQ(file.refresh(kStart + 3 * kSecond), Refresh::changed);
}

TEST(ConfigFile, OneThatIsDeletedIsFaultyOnceAndComesBack) {
  ScratchDir dir;
  write(dir / "c", kOneHost, 1000);
  ConfigFile file = opened(dir / "c");
  ASSERT_EQ(unlink((dir / "c").c_str()), 0);
  EXPECT_EQ(file.refresh(kStart + 0.5 * kSecond), Refresh::unchanged);
  EXPECT_EQ(file.refresh(kStart + kSecond), Refresh::faulty);
  EXPECT_EQ(file.refresh(kStart + 2 * kSecond), Refresh::unchanged);
  EXPECT_EQ(file.config().hosts.size(), 1U);
  write(dir / "c", kTwoHosts, 2000);
  EXPECT_EQ(file.refresh(kStart + 2.5 * kSecond), Refresh::unchanged);
  EXPECT_EQ(file.refresh(kStart + 3 * kSecond), Refresh::changed);
}

TEST(ConfigFile, ReloadReadsWhateverItsTimeSays) {
  ScratchDir dir;
  write(dir / "c", kOneHost, 1000);
  ConfigFile file = opened(dir / "c");
  write(dir / "c", kTwoHosts, 2000);
  EXPECT_EQ(file.reload(kStart), Refresh::changed);
  EXPECT_EQ(file.reload(kStart), Refresh::unchanged);
}

}  // namespace
}  // namespace balance
