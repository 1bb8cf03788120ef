// SPDX-License-Identifier: MIT
#include "balance/table/lease.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "loadprobe/base/file.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

TEST(Lease, IsFreeWhereThereIsNoFile) {
  ScratchDir dir;
  EXPECT_EQ(lease_state(dir / "l").holding, Holding::free);
  EXPECT_NE(access((dir / "l").c_str(), F_OK), 0) << "asking made a file";
}

TEST(Lease, OneHoldsItAndTheNextIsToldWho) {
  ScratchDir dir;
  const base::Result<Lease> first = Lease::take(dir / "l");
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_current());
  const LeaseState state = lease_state(dir / "l");
  EXPECT_EQ(state.holding, Holding::held);
  EXPECT_EQ(state.process, std::optional<long>(getpid()));
  const base::Result<Lease> second = Lease::take(dir / "l");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().fault, base::Fault::unavailable);
  EXPECT_EQ(second.error().what, (dir / "l") + ": the lease is held by process " + std::to_string(getpid()));
}

TEST(Lease, SaysForWhichConfigurationItIsHeld) {
  ScratchDir dir;
  const base::Result<Lease> first = Lease::take(dir / "l", "/srv/a b/balance.conf");
  ASSERT_TRUE(first);
  const LeaseState state = lease_state(dir / "l");
  EXPECT_EQ(state.process, std::optional<long>(getpid()));
  EXPECT_EQ(state.config, "/srv/a b/balance.conf");
  const base::Result<Lease> second = Lease::take(dir / "l", "/srv/b/balance.conf");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().what,
            (dir / "l") + ": the lease is held by process " + std::to_string(getpid()) + " for /srv/a b/balance.conf");
}

TEST(Lease, TwoConfigurationsOfOneBaseNameAreAConflictAndSayWhatToDo) {
  ScratchDir dir;
  const StateFiles files = state_files(dir.path(), "/b/balance.conf");
  const LeaseState held{Holding::held, 7, "/a/balance.conf"};
  EXPECT_EQ(
      conflict(held, files, "/b/balance.conf"),
      (dir / "balance.conf.lease") +
          ": is held for /a/balance.conf, and /b/balance.conf has the same base name; wanted another state-dir or "
          "another name for one of the two");
  EXPECT_EQ(conflict(held, files, "/a/balance.conf"), std::nullopt);
  EXPECT_EQ(conflict(LeaseState{Holding::free, 7, "/a/balance.conf"}, files, "/b/balance.conf"), std::nullopt);
  EXPECT_EQ(conflict(LeaseState{Holding::held, 7, ""}, files, "/b/balance.conf"), std::nullopt);
}

TEST(Lease, TwoNamesOfOneConfigurationAreNoConflict) {
  ScratchDir dir;
  ASSERT_TRUE(base::write_file(dir / "balance.conf", "", 0644));
  ASSERT_EQ(symlink((dir / "balance.conf").c_str(), (dir / "link").c_str()), 0);
  const LeaseState held{Holding::held, 7, dir / "link"};
  EXPECT_EQ(conflict(held, state_files(dir.path(), dir / "link"), dir / "balance.conf"), std::nullopt);
}

TEST(Lease, IsFreeAgainWhenItsHolderIsKilled) {
  ScratchDir dir;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const base::Result<Lease> lease = Lease::take(dir / "l");
    if (write(ready[1], lease ? "y" : "n", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char answer = '?';
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  EXPECT_EQ(lease_state(dir / "l").holding, Holding::held);
  EXPECT_EQ(lease_state(dir / "l").process, std::optional<long>(child));
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(lease_state(dir / "l").holding, Holding::free);
  EXPECT_TRUE(Lease::take(dir / "l"));
  close(ready[0]);
  close(ready[1]);
}

TEST(Lease, AHolderWhoseFileWasDeletedKnows) {
  ScratchDir dir;
  const base::Result<Lease> first = Lease::take(dir / "l");
  ASSERT_TRUE(first);
  ASSERT_EQ(unlink((dir / "l").c_str()), 0);
  EXPECT_FALSE(first->is_current());
  const base::Result<Lease> second = Lease::take(dir / "l");
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->is_current());
  EXPECT_FALSE(first->is_current());
}

TEST(Lease, IsTakenWhileOthersKeepAskingForIt) {
  ScratchDir dir;
  { ASSERT_TRUE(Lease::take(dir / "l")); }
  std::atomic<bool> done{false};
  std::thread asker([&] {
    while (!done) {
      for (int i = 0; i < 100; ++i) (void)lease_state(dir / "l");
      std::this_thread::yield();
    }
  });
  int taken = 0;
  for (int i = 0; i < 50; ++i) taken += Lease::take(dir / "l") ? 1 : 0;
  done = true;
  asker.join();
  EXPECT_EQ(taken, 50);
}

TEST(Lease, ALinkIsNotFollowed) {
  ScratchDir dir;
  ASSERT_EQ(symlink((dir / "elsewhere").c_str(), (dir / "l").c_str()), 0);
  EXPECT_FALSE(Lease::take(dir / "l"));
  EXPECT_NE(access((dir / "elsewhere").c_str(), F_OK), 0);
}

TEST(Lease, AFileWithGarbageForAProcessNamesNone) {
  ScratchDir dir;
  const base::Result<base::Fd> holder = base::Fd::open(dir / "l", O_RDWR | O_CREAT, 0600);
  ASSERT_TRUE(holder);
  ASSERT_EQ(pwrite(holder->get(), "-1\n", 3, 0), 3);
  ASSERT_EQ(flock(holder->get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(lease_state(dir / "l").holding, Holding::held);
  EXPECT_EQ(lease_state(dir / "l").process, std::nullopt);
}

}  // namespace
}  // namespace balance
