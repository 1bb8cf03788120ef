// SPDX-License-Identifier: MIT
#include "balance/table/table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <vector>

#include "balance/table/layout.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/file.h"
#include "tests/unit/table_trial.h"

namespace balance {
namespace {

base::Error refusal(const std::string& path, const TableShape& shape) {
  base::Result<Table> table = Table::open(path, shape);
  EXPECT_FALSE(table);
  return table ? base::Error{} : table.error();
}

TEST(Table, AFreshOneHasUnknownHostsAndNobodyWatching) {
  ScratchDir dir;
  const Table table = make_table(dir / "t", kShape);
  ASSERT_TRUE(table.standing(2));
  EXPECT_EQ(table.standing(2)->health, Health::unknown);
  EXPECT_EQ(table.standing(2)->reported, base::kNever);
  ASSERT_TRUE(table.pool());
  EXPECT_EQ(table.pool()->beat, base::kNever);
  EXPECT_EQ(table.dispatches(0), 0U);
  EXPECT_EQ(table.virtual_time(), 0);
  EXPECT_EQ(table.live(0, kNow).prediction.requests, 0);
}

TEST(Table, AStandingIsReadAsItWasPublishedByWhoeverOpensTheFile) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  table.publish(1, example());
  const base::Result<Table> other = Table::open(dir / "t", kShape);
  ASSERT_TRUE(other);
  const std::optional<Standing> read = other->standing(1);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->health, Health::wrong);
  EXPECT_EQ(read->duty, Duty::draining);
  EXPECT_EQ(read->web, WebPort::silent);
  EXPECT_TRUE(read->probe_refused);
  EXPECT_EQ(read->reported, Instant{Seconds{12.5}});
  EXPECT_EQ(read->web_answered, Instant{Seconds{13}});
  EXPECT_EQ(read->up_since, Instant{Seconds{-3}});
  EXPECT_EQ(read->changed, Instant{Seconds{14.25}});
  EXPECT_EQ(read->cores, 2.5);
  EXPECT_EQ(read->background, -0.25);
  EXPECT_EQ(read->mean_service_seconds, 0.125);
  EXPECT_EQ(read->running, std::optional<double>(3));
  EXPECT_EQ(read->waiting, std::nullopt);
  EXPECT_EQ(read->load1, std::optional<double>(0.5));
  EXPECT_EQ(read->cause, "web port: connection refused");
  EXPECT_EQ(other->standing(0)->health, Health::unknown);
  EXPECT_FALSE(other->standing(0)->probe_refused);
  EXPECT_EQ(other->balancer_id(), table.balancer_id());
}

TEST(Table, ThePoolIsReadAsItWasPublished) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  table.publish(PoolStanding{.beat = Instant{Seconds{5}},
                             .started = Instant{Seconds{4}},
                             .mean_service_seconds = 0.25,
                             .share = 0.5,
                             .greatest_capacity = 8,
                             .median_cores = 4,
                             .panic = true,
                             .web_only = true});
  const std::optional<PoolStanding> read = table.pool();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->beat, Instant{Seconds{5}});
  EXPECT_EQ(read->started, Instant{Seconds{4}});
  EXPECT_EQ(read->mean_service_seconds, 0.25);
  EXPECT_EQ(read->share, 0.5);
  EXPECT_EQ(read->greatest_capacity, 8);
  EXPECT_EQ(read->median_cores, 4);
  EXPECT_TRUE(read->panic);
  EXPECT_TRUE(read->web_only);
}

TEST(Table, ACauseIsCutAt111BytesAndMadePrintable) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  Standing standing;
  standing.cause = "a\nb\x1b[31m\xc3\xa9" + std::string(200, 'x');
  table.publish(0, standing);
  EXPECT_EQ(table.standing(0)->cause, "a?b?[31m??" + std::string(101, 'x'));
}

TEST(Table, AnIndexBeyondTheHostsReadsAsNothingAndWritesNothing) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  const auto before = base::read_file(dir / "t");
  table.publish(3, example());
  table.publish(4096, example());
  table.set_prediction(3, {.requests = 5, .at = kNow});
  table.dispatch(3, kNow, [](Prediction p) { return p; });
  table.remember_client(1, 3, kNow);
  EXPECT_TRUE(table.take_turn(3, 0, 1, 1));
  EXPECT_EQ(table.standing(3), std::nullopt);
  EXPECT_EQ(table.dispatches(3), 0U);
  EXPECT_EQ(table.live(3, kNow).prediction.requests, 0);
  EXPECT_EQ(*base::read_file(dir / "t"), *before);
}

TEST(Table, NoFileIsUnavailable) {
  ScratchDir dir;
  EXPECT_EQ(refusal(dir / "none", kShape).fault, base::Fault::unavailable);
}

TEST(Table, OfAnotherConfigurationIsUnavailable) {
  ScratchDir dir;
  make_table(dir / "t", kShape);
  const base::Error error = refusal(dir / "t", {.fingerprint = 8, .hosts = 3, .boot_id = "boot-one"});
  EXPECT_EQ(error.fault, base::Fault::unavailable);
  EXPECT_EQ(error.what, (dir / "t") + ": is of another configuration");
}

TEST(Table, OfAnotherBootIsUnavailable) {
  ScratchDir dir;
  make_table(dir / "t", kShape);
  const base::Error error = refusal(dir / "t", {.fingerprint = 7, .hosts = 3, .boot_id = "boot-two"});
  EXPECT_EQ(error.fault, base::Fault::unavailable);
  EXPECT_EQ(error.what, (dir / "t") + ": is of another boot");
}

TEST(Table, OfAnotherNumberOfHostsIsUnavailable) {
  ScratchDir dir;
  make_table(dir / "t", kShape);
  const base::Error error = refusal(dir / "t", {.fingerprint = 7, .hosts = 4, .boot_id = "boot-one"});
  EXPECT_EQ(error.fault, base::Fault::unavailable);
  EXPECT_EQ(error.what, (dir / "t") + ": is not the table wanted: it has 530560 bytes, wanted 531200 for 4 hosts");
}

TEST(Table, OfAnotherLayoutIsNeverReinterpreted) {
  ScratchDir dir;
  make_table(dir / "t", kShape);
  overwrite(dir / "t", offsetof(layout::Head, layout_version), "\x63");
  const base::Error error = refusal(dir / "t", kShape);
  EXPECT_EQ(error.fault, base::Fault::unavailable);
  EXPECT_EQ(error.what, (dir / "t") + ": has table layout 99, wanted 5");
}

TEST(Table, AFileOfTheRightSizeThatIsNoTableIsUnavailable) {
  ScratchDir dir;
  ASSERT_TRUE(base::write_file(dir / "t", std::string(layout::bytes_for(3), '\xff')));
  const base::Error error = refusal(dir / "t", kShape);
  EXPECT_EQ(error.fault, base::Fault::unavailable);
  EXPECT_EQ(error.what, (dir / "t") + ": is no table");
}

TEST(Table, ALinkAPipeAndADirectoryAreNotOpened) {
  ScratchDir dir;
  make_table(dir / "t", kShape);
  ASSERT_EQ(symlink((dir / "t").c_str(), (dir / "link").c_str()), 0);
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(Table::open(dir / "link", kShape));
  EXPECT_FALSE(Table::open(dir / "pipe", kShape));
  EXPECT_FALSE(Table::open(dir.path(), kShape));
}

TEST(Table, EveryTruncationOfTheFileIsUnavailable) {
  ScratchDir dir;
  make_table(dir / "t", kShape);
  for (std::size_t bytes = 0; bytes < layout::bytes_for(3); bytes += 509) {
    ASSERT_EQ(truncate((dir / "t").c_str(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(refusal(dir / "t", kShape).fault, base::Fault::unavailable) << bytes;
    ASSERT_EQ(truncate((dir / "t").c_str(), static_cast<off_t>(layout::bytes_for(3))), 0);
  }
}

TEST(Table, NeedsOneTo4096Hosts) {
  ScratchDir dir;
  EXPECT_FALSE(Table::create(dir / "t", {.fingerprint = 1, .hosts = 0, .boot_id = "b"}));
  EXPECT_FALSE(Table::create(dir / "t", {.fingerprint = 1, .hosts = 4097, .boot_id = "b"}));
  EXPECT_FALSE(Table::open(dir / "t", {.fingerprint = 1, .hosts = 4097, .boot_id = "b"}));
  Table table = make_table(dir / "t", {.fingerprint = 1, .hosts = 4096, .boot_id = "b"});
  table.publish(4095, example());
  EXPECT_EQ(table.standing(4095)->cores, 2.5);
}

TEST(Table, IsSharedWithTheGroupThatMayWriteTheDirectory) {
  ScratchDir dir;
  ASSERT_EQ(chmod(dir.path().c_str(), 0770), 0);
  make_table(dir / "t", kShape);
  struct stat file = {};
  struct stat directory = {};
  ASSERT_EQ(stat((dir / "t").c_str(), &file), 0);
  ASSERT_EQ(stat(dir.path().c_str(), &directory), 0);
  EXPECT_EQ(file.st_mode & 07777, 0660U);
  EXPECT_EQ(file.st_gid, directory.st_gid);
}

TEST(Table, ALeftoverOfADeadCreatorIsReplaced) {
  ScratchDir dir;
  ASSERT_TRUE(base::write_file(dir / "t.new", "half"));
  make_table(dir / "t", kShape);
  EXPECT_TRUE(Table::open(dir / "t", kShape));
  EXPECT_NE(access((dir / "t.new").c_str(), F_OK), 0);
}

TEST(Table, IsNoLongerCurrentWhenAnotherTookItsPlace) {
  ScratchDir dir;
  const Table old = make_table(dir / "t", kShape);
  EXPECT_TRUE(old.is_current(dir / "t"));
  const Table young = make_table(dir / "t", kShape);
  EXPECT_FALSE(old.is_current(dir / "t"));
  EXPECT_TRUE(young.is_current(dir / "t"));
  EXPECT_NE(old.balancer_id(), young.balancer_id());
  ASSERT_EQ(unlink((dir / "t").c_str()), 0);
  EXPECT_FALSE(young.is_current(dir / "t"));
}

// A table cut short above its head stayed as it was for good, and hosts known to be dead got requests.
TEST(Table, IsNoLongerCurrentWhenItsFileWasCutShort) {
  ScratchDir dir;
  const Table table = make_table(dir / "t", kShape);
  struct stat status = {};
  ASSERT_EQ(stat((dir / "t").c_str(), &status), 0);
  ASSERT_EQ(truncate((dir / "t").c_str(), status.st_size - 1), 0);
  EXPECT_FALSE(table.is_current(dir / "t"));
}

TEST(Table, ADispatchRaisesThePredictionAndTheCount) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  table.set_prediction(1, {.requests = 4, .at = kNow});
  table.dispatch(1, kNow, [](Prediction seen) { return Prediction{seen.requests + 2, seen.at}; });
  EXPECT_EQ(table.live(1, kNow).prediction.requests, 6);
  EXPECT_EQ(table.dispatches(1), 1U);
  EXPECT_EQ(table.dispatches(0), 0U);
}

TEST(Table, ADispatchOvertakenByAReportIsAskedAgain) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  int asked = 0;
  table.dispatch(0, kNow, [&](Prediction seen) {
    if (++asked == 1) table.set_prediction(0, {.requests = 10, .at = kNow});
    return Prediction{seen.requests + 1, kNow};
  });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(table.live(0, kNow).prediction.requests, 11);
  EXPECT_EQ(table.dispatches(0), 1U);
}

TEST(Table, ATurnIsTakenOnce) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  EXPECT_TRUE(table.take_turn(0, 0, 0.5, 0.25));
  EXPECT_FALSE(table.take_turn(0, 0, 0.5, 0.25));
  EXPECT_EQ(table.live(0, kNow).turn, 0.5);
  EXPECT_EQ(table.virtual_time(), 0.25);
}

TEST(Table, ThePoolsVirtualTimeNeverFalls) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  EXPECT_TRUE(table.take_turn(0, 0, 3, 2));
  EXPECT_TRUE(table.take_turn(1, 0, 1, 0.5));
  EXPECT_EQ(table.virtual_time(), 2);
}

TEST(Table, ATurnThatMakesNoSenseCanStillBeTaken) {
  for (const double garbage :
       {std::numeric_limits<double>::quiet_NaN(), -1.0, 1e300, std::numeric_limits<double>::infinity()}) {
    ScratchDir dir;
    Table table = make_table(dir / "t", kShape);
    const std::uint64_t word = std::bit_cast<std::uint64_t>(garbage);
    const std::string bytes(reinterpret_cast<const char*>(&word), 8);
    overwrite(dir / "t", layout::live_at(0, 3) + offsetof(layout::Live, turn), bytes);
    overwrite(dir / "t", layout::kSharedAt, bytes);
    EXPECT_EQ(table.live(0, kNow).turn, 0);
    EXPECT_EQ(table.virtual_time(), 0);
    EXPECT_TRUE(table.take_turn(0, 0, 1, 0.5));
    EXPECT_EQ(table.live(0, kNow).turn, 1);
    EXPECT_EQ(table.virtual_time(), 0.5);
  }
}

TEST(Table, AReadOnlyOneChangesNothing) {
  ScratchDir dir;
  Table writer = make_table(dir / "t", kShape);
  writer.publish(0, example());
  base::Result<Table> reader = Table::open(dir / "t", kShape, Access::read_only);
  ASSERT_TRUE(reader);
  reader->publish(0, Standing{});
  reader->publish(PoolStanding{});
  reader->set_prediction(0, {.requests = 9, .at = kNow});
  reader->dispatch(0, kNow, [](Prediction p) { return Prediction{p.requests + 1, p.at}; });
  reader->remember_client(5, 0, kNow);
  EXPECT_TRUE(reader->take_turn(0, 0, 1, 1));
  EXPECT_EQ(reader->standing(0)->cores, 2.5);
  EXPECT_EQ(writer.dispatches(0), 0U);
  EXPECT_EQ(writer.live(0, kNow).prediction.requests, 0);
  EXPECT_EQ(writer.live(0, kNow).turn, 0);
  EXPECT_EQ(writer.host_of_client(5, kNow, Seconds{600}), std::nullopt);
}

TEST(Table, ANewOneTakesOverWhatTheOldOneKnewOfTheHostsThatStay) {
  ScratchDir dir;
  Table old = make_table(dir / "t", kShape);
  old.publish(2, example());
  old.publish(PoolStanding{.beat = kNow, .share = 0.5});
  old.set_prediction(2, {.requests = 3, .at = kNow});
  old.dispatch(2, kNow, [](Prediction p) { return p; });
  EXPECT_TRUE(old.take_turn(2, 0, 5, 4));
  old.remember_client(0x1234567800000001U, 2, kNow);
  old.remember_client(0x1234567800000002U, 0, kNow);
  EXPECT_TRUE(old.set_by_hand({{{}, {}, {.weight = 2.5, .duty = Duty::off}}, true}, old.words_by_hand()));
  const TableShape shape{.fingerprint = 9, .hosts = 2, .boot_id = "boot-one"};
  const base::Result<Table> young =
      Table::create(dir / "t", shape, Table::Heritage{.from = &old, .was = {2, std::nullopt}});
  ASSERT_TRUE(young);
  EXPECT_EQ(young->standing(0)->cause, "web port: connection refused");
  EXPECT_EQ(young->standing(1)->health, Health::unknown);
  EXPECT_EQ(young->pool()->share, 0.5);
  EXPECT_EQ(young->live(0, kNow).prediction.requests, 3);
  EXPECT_EQ(young->live(0, kNow).turn, 5);
  EXPECT_EQ(young->virtual_time(), 4);
  EXPECT_EQ(young->live(0, kNow).by_hand, (ByHand{.weight = 2.5, .duty = Duty::off}));
  EXPECT_EQ(young->live(1, kNow).by_hand, ByHand{});
  EXPECT_EQ(young->weights_differ(), true);
  EXPECT_EQ(young->dispatches(0), 1U);
  EXPECT_EQ(young->dispatches(1), 0U);
  EXPECT_EQ(young->balancer_id(), old.balancer_id());
  EXPECT_EQ(young->host_of_client(0x1234567800000001U, kNow, Seconds{600}), std::optional<std::size_t>(0));
  EXPECT_EQ(young->host_of_client(0x1234567800000002U, kNow, Seconds{600}), std::nullopt);
}

TEST(Table, WhatIsSetByHandIsSeenByAllProcessesAndReplacedOnlyWhereItStillStands) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  const base::Result<Table> other = Table::open(dir / "t", kShape);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->weights_differ(), std::nullopt);
  const std::vector<std::uint64_t> before = table.words_by_hand();
  const SetByHand first{{{.weight = 3}, {.duty = Duty::draining}, {}}, true};
  EXPECT_TRUE(table.set_by_hand(first, before));
  EXPECT_EQ(other->live(0, kNow).by_hand.weight, 3);
  EXPECT_EQ(other->live(1, kNow).by_hand.duty, Duty::draining);
  EXPECT_EQ(other->weights_differ(), true);
  EXPECT_FALSE(table.set_by_hand(SetByHand{}, before));  // an older word comes too late
  EXPECT_EQ(other->live(0, kNow).by_hand.weight, 3);
  EXPECT_EQ(other->weights_differ(), true);
  EXPECT_TRUE(table.set_by_hand(SetByHand{}, table.words_by_hand()));
  EXPECT_EQ(other->live(0, kNow).by_hand, ByHand{});
  EXPECT_EQ(other->weights_differ(), std::nullopt);
}

TEST(Table, OneThatIsReadOnlySetsNothingByHand) {
  ScratchDir dir;
  const Table table = make_table(dir / "t", kShape);
  base::Result<Table> reader = Table::open(dir / "t", kShape, Access::read_only);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->set_by_hand({{{.weight = 3}, {}, {}}, true}, reader->words_by_hand()));
  EXPECT_EQ(table.live(0, kNow).by_hand, ByHand{});
}

TEST(Table, AHeritageWithWrongIndicesIsPassedOver) {
  ScratchDir dir;
  const Table old = make_table(dir / "t", kShape);
  const base::Result<Table> young =
      Table::create(dir / "t", kShape, Table::Heritage{.from = &old, .was = {99, 3, 1, 0, 0}});
  ASSERT_TRUE(young);
  EXPECT_TRUE(young->standing(2));
}

}  // namespace
}  // namespace balance
