// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "balance/table/table.h"
#include "tests/unit/table_trial.h"

#if defined(__SANITIZE_THREAD__)
// The kernel puts pages in the place of others at once; the sanitizer sees a write to each word.
extern "C" const char* __tsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() { return "race:zero_pages_over\n"; }
#endif

namespace balance {
namespace {

TEST(Truncation, ATableTruncatedUnderUsReadsAsNothingAndIsNotIntact) {
  ScratchDir dir;
  Table table = make_table(dir / "t", {.fingerprint = 7, .hosts = 100, .boot_id = "boot-one"});
  table.publish(0, example());
  table.publish(99, example());
  table.set_prediction(99, {.requests = 5, .at = kNow});
  ASSERT_TRUE(table.intact());
  ASSERT_EQ(truncate((dir / "t").c_str(), 0), 0);
  EXPECT_EQ(table.standing(99), std::nullopt);
  EXPECT_FALSE(table.intact());
  EXPECT_EQ(table.standing(0), std::nullopt);
  EXPECT_EQ(table.pool(), std::nullopt);
  EXPECT_EQ(table.live(99, kNow).prediction.requests, 0);
  EXPECT_EQ(table.dispatches(99), 0U);
  table.dispatch(99, kNow, [](Prediction p) { return Prediction{p.requests + 1, p.at}; });
  table.publish(99, example());
  EXPECT_EQ(table.standing(99), std::nullopt);
  EXPECT_EQ(Table::open(dir / "t", {.fingerprint = 7, .hosts = 100, .boot_id = "boot-one"}).error().fault,
            base::Fault::unavailable);
}

TEST(Truncation, AskingWhetherItIsIntactIsEnoughToFindOut) {
  ScratchDir dir;
  const Table table = make_table(dir / "t", kShape);
  ASSERT_EQ(truncate((dir / "t").c_str(), 0), 0);
  EXPECT_FALSE(table.intact());
}

TEST(Truncation, OneTableIsLostAndTheOthersStay) {
  ScratchDir dir;
  Table lost = make_table(dir / "a", kShape);
  Table kept = make_table(dir / "b", kShape);
  kept.publish(1, example());
  ASSERT_EQ(truncate((dir / "a").c_str(), 0), 0);
  EXPECT_FALSE(lost.intact());
  EXPECT_TRUE(kept.intact());
  EXPECT_EQ(kept.standing(1)->cores, 2.5);
}

TEST(Truncation, ManyThreadsMeetItAtOnce) {
  ScratchDir dir;
  Table table = make_table(dir / "t", {.fingerprint = 7, .hosts = 1000, .boot_id = "boot-one"});
  ASSERT_EQ(truncate((dir / "t").c_str(), 0), 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&table, t] {
      for (std::size_t i = t; i < 1000; i += 8) {
        EXPECT_EQ(table.standing(i), std::nullopt);
        table.dispatch(i, kNow, [](Prediction p) { return p; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(table.intact());
}

TEST(Truncation, AHeadOverwrittenMeansNotIntact) {
  ScratchDir dir;
  const Table table = make_table(dir / "t", kShape);
  overwrite(dir / "t", 0, std::string(64, '\0'));
  EXPECT_FALSE(table.intact());
}

// A child meets SIGBUS elsewhere, with our handler in place: how it ends.
int end_of_child(void (*act)(const std::string& path)) {
  ScratchDir dir;
  const Table table = make_table(dir / "t", kShape);
  const pid_t child = fork();
  if (child == 0) {
    act(dir / "other");
    _exit(42);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Truncation, ASigbusThatSomebodySendsStillKills) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has a handler of its own";
#endif
  const int status = end_of_child([](const std::string&) { kill(getpid(), SIGBUS); });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
}

}  // namespace
}  // namespace balance
