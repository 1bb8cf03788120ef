// SPDX-License-Identifier: MIT
#include "balance/table/launch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "balance/table/lease.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/file.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

constexpr base::Instant kNow{base::Seconds{1000}};
constexpr base::Seconds kSecond{1};

// A stand-in that says on a named pipe what it was started with, and ends.
std::string stand_in(const ScratchDir& dir) {
  EXPECT_EQ(mkfifo((dir / "said").c_str(), 0600), 0);
  const std::string script =
      "#!/bin/sh\n"
      "fd=/proc/$$/fd\n"
      "echo \"$# $1 $2 $3 $4 ${5##*/} proxy=$HTTP_PROXY in=$(readlink /proc/$$/cwd) 0=$(readlink $fd/0) 2=$(readlink "
      "$fd/2) "
      "77=$(readlink $fd/77)\" >'" +
      (dir / "said") + "'\n";
  EXPECT_TRUE(base::write_file(dir / "poolwatch", script, 0755));
  return dir / "poolwatch";
}

// Waits for the stand-in's word, at most 10 s.
std::string said(int pipe) {
  std::string text;
  char bytes[512];
  for (;;) {
    pollfd wait{.fd = pipe, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, 10000) <= 0) return text + "(nothing more came)";
    const ssize_t length = read(pipe, bytes, sizeof bytes);
    if (length <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(length));
  }
}

TEST(Launch, StartsItWithItsConfigurationAndNothingOfOurs) {
  ScratchDir dir;
  const std::string program = stand_in(dir);
  const base::Result<base::Fd> pipe = base::Fd::open(dir / "said", O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(pipe);
  ASSERT_EQ(setenv("HTTP_PROXY", "http://evil.example.org", 1), 0);
  ASSERT_EQ(dup2(2, 77), 77);  // not close-on-exec, as a web server's are
  const base::Result<Launch> launch = launch_poolwatch(program, "/c.conf", state_files(dir.path(), "/c.conf"), kNow);
  close(77);
  unsetenv("HTTP_PROXY");
  ASSERT_TRUE(launch) << launch.error().what;
  EXPECT_EQ(*launch, Launch::started);
  EXPECT_EQ(said(pipe->get()),
            "5 --config /c.conf --on-demand --log c.conf.log proxy= in=/ 0=/dev/null 2=/dev/null 77=\n");
}

TEST(Launch, HappensOnceASecondHoweverManyAsk) {
  ScratchDir dir;
  const StateFiles files = state_files(dir.path(), "/c.conf");
  const auto launch = [&](base::Instant now) { return launch_poolwatch("/bin/true", "/c.conf", files, now); };
  EXPECT_EQ(*launch(kNow), Launch::started);
  EXPECT_EQ(*launch(kNow), Launch::too_soon);
  EXPECT_EQ(*launch(kNow + 0.9 * kSecond), Launch::too_soon);
  EXPECT_EQ(*launch(kNow + kSecond), Launch::started);
}

TEST(Launch, AMarkOfTheFutureIsOfAnotherBoot) {
  ScratchDir dir;
  const StateFiles files = state_files(dir.path(), "/c.conf");
  ASSERT_TRUE(base::write_file(files.starting, "99999999\n"));
  EXPECT_EQ(*launch_poolwatch("/bin/true", "/c.conf", files, kNow), Launch::started);
  ASSERT_TRUE(base::write_file(files.starting, "garbage"));
  EXPECT_EQ(*launch_poolwatch("/bin/true", "/c.conf", files, kNow), Launch::started);
}

TEST(Launch, IsNotNeededWhileSomebodyHoldsTheLease) {
  ScratchDir dir;
  const StateFiles files = state_files(dir.path(), "/c.conf");
  const base::Result<Lease> lease = Lease::take(files.lease);
  ASSERT_TRUE(lease);
  EXPECT_EQ(*launch_poolwatch("/bin/true", "/c.conf", files, kNow), Launch::not_needed);
}

TEST(Launch, OneThatIsStartingRightNowIsEnough) {
  ScratchDir dir;
  const StateFiles files = state_files(dir.path(), "/c.conf");
  const base::Result<base::Fd> other = base::Fd::open(files.starting, O_RDWR | O_CREAT, 0600);
  ASSERT_TRUE(other);
  ASSERT_EQ(flock(other->get(), LOCK_EX), 0);
  EXPECT_EQ(*launch_poolwatch("/bin/true", "/c.conf", files, kNow), Launch::too_soon);
}

TEST(Launch, AProgramThatIsNotThereIsAnError) {
  ScratchDir dir;
  const base::Result<Launch> launch =
      launch_poolwatch(dir / "none", "/c.conf", state_files(dir.path(), "/c.conf"), kNow);
  ASSERT_FALSE(launch);
  EXPECT_EQ(launch.error().what, "cannot start " + (dir / "none") + ": No such file or directory");
}

TEST(Launch, ItsProgramStandsBesideOurs) {
  const std::string path = poolwatch_beside_us();
  EXPECT_EQ(path.front(), '/');
  EXPECT_EQ(path.substr(path.rfind('/')), "/poolwatch");
}

TEST(Launch, SaysThatAnotherConfigurationOfTheSameBaseNameHasTheFiles) {
  ScratchDir dir;
  const StateFiles files = state_files(dir.path(), "/b/c.conf");
  const base::Result<Lease> lease = Lease::take(files.lease, "/a/c.conf");
  ASSERT_TRUE(lease);
  const base::Result<Launch> launch = launch_poolwatch("/bin/true", "/b/c.conf", files, kNow);
  ASSERT_FALSE(launch);
  EXPECT_EQ(launch.error().what, files.lease +
                                     ": is held for /a/c.conf, and /b/c.conf has the same base name; wanted another "
                                     "state-dir or another name for one of the two");
}

}  // namespace
}  // namespace balance
