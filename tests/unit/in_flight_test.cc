// SPDX-License-Identifier: MIT
#include "balance/table/in_flight.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "balance/table/layout.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"

namespace balance {
namespace {

constexpr Instant kNow{Seconds{5000}};

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

class InFlightTest : public testing::Test {
 protected:
  InFlightTest() : path_(folder_ / "t"), table_(make(1)) {}
  Table make(std::uint64_t fingerprint) {
    shape_ = TableShape{fingerprint, 3, "boot"};
    return make_table(path_, shape_);
  }
  void use(InFlight& flights) { ASSERT_TRUE(flights.use(path_, shape_)); }
  // Other processes that hold the slots.
  std::vector<base::Fd> hold_all_but(std::size_t free) {
    std::vector<base::Fd> holders;
    for (std::size_t slot = 0; slot < layout::kSlots; ++slot) {
      if (slot == free) continue;
      base::Result<base::Fd> file = base::Fd::open(path_, O_RDWR);
      struct flock request = {};
      request.l_type = F_WRLCK;
      request.l_whence = SEEK_SET;
      request.l_start = layout::kLocksAt + static_cast<off_t>(slot);
      request.l_len = 1;
      EXPECT_EQ(fcntl(file->get(), F_OFD_SETLK, &request), 0);
      holders.push_back(*std::move(file));
    }
    return holders;
  }
  // The one whose bit is set.
  std::size_t left_slot() {
    std::uint64_t claimed = 0;
    const base::Result<base::Fd> file = base::Fd::open(path_, O_RDONLY);
    const auto place = static_cast<off_t>(layout::kSharedAt + offsetof(layout::Shared, claimed));
    EXPECT_EQ(pread(file->get(), &claimed, sizeof claimed, place), static_cast<ssize_t>(sizeof claimed));
    EXPECT_TRUE(std::has_single_bit(claimed));
    return static_cast<std::size_t>(std::countr_zero(claimed));
  }
  // A process that counts two requests to host 1 and then is killed.
  void count_two_and_be_killed() {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      InFlight flights;
      const bool ready = static_cast<bool>(flights.use(path_, shape_));
      const InFlight::Count one = flights.begin(1), two = flights.begin(1);
      if (ready) kill(getpid(), SIGKILL);
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  ScratchDir folder_;
  std::string path_;
  TableShape shape_;
  Table table_;
};

TEST_F(InFlightTest, CountsFromBeginningToEnd) {
  InFlight flights;
  use(flights);
  {
    const InFlight::Count one = flights.begin(1);
    InFlight::Count two = flights.begin(1);
    const InFlight::Count other = flights.begin(2);
    EXPECT_EQ(table_.in_flight(1), 2U);
    EXPECT_EQ(table_.live(2, kNow).in_flight, 1U);
    two.end();
    two.end();
    EXPECT_EQ(table_.in_flight(1), 1U);
  }
  EXPECT_EQ(table_.in_flight(1), 0U);
  EXPECT_EQ(table_.in_flight(2), 0U);
}

TEST_F(InFlightTest, ACountThatIsMovedIsOneCount) {
  InFlight flights;
  use(flights);
  InFlight::Count one = flights.begin(0);
  std::vector<InFlight::Count> counts;
  counts.push_back(std::move(one));
  EXPECT_EQ(table_.in_flight(0), 1U);
  counts.front() = flights.begin(0);
  counts.clear();
  EXPECT_LE(table_.in_flight(0), 1U);
}

TEST_F(InFlightTest, WithoutATableNothingIsCounted) {
  InFlight flights;
  EXPECT_FALSE(flights.use(folder_ / "none", shape_));
  const InFlight::Count one = flights.begin(0);
  EXPECT_EQ(table_.in_flight(0), 0U);
}

TEST_F(InFlightTest, AHostThatIsNoneIsNotCounted) {
  InFlight flights;
  use(flights);
  const InFlight::Count one = flights.begin(3);
  EXPECT_EQ(table_.in_flight(3), 0U);
}

TEST_F(InFlightTest, ProcessesHaveSlotsOfTheirOwn) {
  InFlight first, second;
  use(first);
  use(second);
  const InFlight::Count one = first.begin(0);
  {
    const InFlight::Count two = second.begin(0);
    EXPECT_EQ(table_.in_flight(0), 2U);
  }
  EXPECT_EQ(table_.in_flight(0), 1U);
  EXPECT_EQ(table_.clear_dead_slots(), 0U);
  EXPECT_EQ(table_.in_flight(0), 1U);
}

TEST_F(InFlightTest, AKilledProcessLeaksNothing) {
  count_two_and_be_killed();
  EXPECT_EQ(table_.in_flight(1), 2U);
  EXPECT_EQ(table_.clear_dead_slots(), 1U);
  EXPECT_EQ(table_.in_flight(1), 0U);
  EXPECT_EQ(table_.clear_dead_slots(), 0U);
}

TEST_F(InFlightTest, ASlotThatAKilledProcessLeftIsClearedByItsNextOwner) {
  count_two_and_be_killed();
  const std::vector<base::Fd> others = hold_all_but(left_slot());
  InFlight next;
  use(next);
  EXPECT_EQ(table_.in_flight(1), 0U);
  const InFlight::Count one = next.begin(1);
  EXPECT_EQ(table_.in_flight(1), 1U);
}

TEST_F(InFlightTest, ThereAre64SlotsAndNoMore) {
  const std::vector<base::Fd> others = hold_all_but(5);
  std::optional<InFlight> first;
  first.emplace();
  use(*first);
  InFlight late;
  const base::Status refused = late.use(path_, shape_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, path_ + ": all slots are taken; wanted one for requests in flight");
  first.reset();
  EXPECT_TRUE(late.use(path_, shape_));
}

TEST_F(InFlightTest, SlotsThatShareAWordDoNotSpillIntoEachOther) {
  std::vector<std::unique_ptr<InFlight>> all;
  std::vector<InFlight::Count> counts;
  for (int i = 0; i < 8; ++i) {
    all.push_back(std::make_unique<InFlight>());
    use(*all.back());
    for (int k = 0; k < 100; ++k) counts.push_back(all.back()->begin(2));
  }
  EXPECT_EQ(table_.in_flight(2), 800U);
  counts.clear();
  EXPECT_EQ(table_.in_flight(2), 0U);
}

TEST_F(InFlightTest, AReplacedTableStartsEmptyAndWhatIsUnderWayEndsInTheOldOne) {
  InFlight flights;
  use(flights);
  InFlight::Count old = flights.begin(1);
  Table next = make(2);
  use(flights);
  const InFlight::Count young = flights.begin(1);
  EXPECT_EQ(next.in_flight(1), 1U);
  EXPECT_EQ(table_.in_flight(1), 1U);
  old.end();
  EXPECT_EQ(table_.in_flight(1), 0U);
  EXPECT_EQ(next.in_flight(1), 1U);
}

TEST_F(InFlightTest, ATableThatIsReadOnlyCountsNothing) {
  base::Result<Table> read_only = Table::open(path_, shape_, Access::read_only);
  ASSERT_TRUE(read_only);
  EXPECT_EQ(read_only->clear_dead_slots(), 0U);
  read_only->note_end(0, Relayed::no_connection, kNow);
  read_only->note_killer(1, {0, 1}, kNow);
  EXPECT_FALSE(is_out(table_.live(0, kNow).outcomes, kNow));
  EXPECT_FALSE(table_.killer(1, kNow));
}

TEST_F(InFlightTest, ManyThreadsLoseNoCount) {
  InFlight flights;
  use(flights);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&flights] {
        for (int i = 0; i < 2000; ++i) {
          const InFlight::Count one = flights.begin(0), two = flights.begin(1);
        }
      });
    }
  }
  EXPECT_EQ(table_.in_flight(0), 0U);
  EXPECT_EQ(table_.in_flight(1), 0U);
}

TEST_F(InFlightTest, ATruncatedTableCountsNothingAndHarmsNobody) {
  InFlight flights;
  use(flights);
  InFlight::Count one = flights.begin(0);
  { std::ofstream(path_, std::ios::trunc).flush(); }
  const InFlight::Count two = flights.begin(0);
  one.end();
  EXPECT_EQ(table_.in_flight(0), 0U);
}

TEST_F(InFlightTest, EndsTakeAHostOutForAll) {
  base::Result<Table> other = Table::open(path_, shape_);
  ASSERT_TRUE(other);
  for (int i = 0; i < 2; ++i) table_.note_end(1, Relayed::timed_out, kNow);
  EXPECT_FALSE(is_out(other->live(1, kNow).outcomes, kNow));
  other->note_end(1, Relayed::timed_out, kNow);
  EXPECT_TRUE(is_out(table_.live(1, kNow).outcomes, kNow));
  EXPECT_FALSE(is_out(table_.live(0, kNow).outcomes, kNow));
  table_.note_end(9, Relayed::no_connection, kNow);
}

TEST_F(InFlightTest, AHeirKnowsWhoIsOut) {
  table_.note_end(2, Relayed::no_connection, kNow);
  const Table::Heritage heritage{&table_, {2, std::nullopt}};
  base::Result<Table> heir = Table::create(folder_ / "heir", TableShape{2, 2, "boot"}, heritage);
  ASSERT_TRUE(heir);
  EXPECT_TRUE(is_out(heir->live(0, kNow).outcomes, kNow));
  EXPECT_FALSE(is_out(heir->live(1, kNow).outcomes, kNow));
}

TEST_F(InFlightTest, AKillerIsRememberedForAMinuteWithItsHosts) {
  constexpr std::uint64_t kRequest = 0x123456789abcdef0;
  EXPECT_FALSE(table_.killer(kRequest, kNow));
  table_.note_killer(kRequest, {2, 1}, kNow);
  for (const double later : {0.0, 1.0, 59.0}) {
    EXPECT_EQ(table_.killer(kRequest, kNow + Seconds{later}), (std::pair<std::size_t, std::size_t>{2, 1})) << later;
  }
  EXPECT_FALSE(table_.killer(kRequest, kNow + Seconds{62}));
  EXPECT_FALSE(table_.killer(kRequest + (std::uint64_t{1} << 40), kNow));
  EXPECT_FALSE(table_.killer(kRequest + 1, kNow));
}

TEST_F(InFlightTest, AKillerThatWentWellIsForgotten) {
  table_.note_killer(77, {0, 1}, kNow);
  table_.forget_killer(77);
  EXPECT_FALSE(table_.killer(77, kNow));
}

TEST_F(InFlightTest, ManyKillersPushTheOldestOut) {
  constexpr std::uint64_t kSameBucket = layout::kKillerBuckets;
  const auto request = [](std::uint64_t i) { return (i + 1) << 40 | kSameBucket; };
  for (std::uint64_t i = 0; i < layout::kWays + 1; ++i) {
    table_.note_killer(request(i), {0, 1}, at(5000 + static_cast<double>(i)));
  }
  EXPECT_FALSE(table_.killer(request(0), at(5010)));
  for (std::uint64_t i = 1; i < layout::kWays + 1; ++i) EXPECT_TRUE(table_.killer(request(i), at(5010))) << i;
}

}  // namespace
}  // namespace balance
