// SPDX-License-Identifier: MIT
#include "balance/ctl/set_by_hand.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "balance/table/hand_files.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/file.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"

namespace balance {
namespace {

class HandFilesOnDisk : public testing::Test {
 protected:
  HandFilesOnDisk() : config_(*parse_config(text(""), folder_ / "x.conf")) {
    roots_.standard = folder_ / "run";
    roots_.kept = folder_ / "lib";
    roots_.temporary = folder_ / "tmp";
    roots_.user = geteuid();
    mkdir(roots_.standard.c_str(), 0755);
  }
  static std::string text(const std::string& more) {
    return more +
           "host = pinchot http://pinchot.example.org\nhost = leopold http://leopold.example.org weight=2\n"
           "host = darwin http://darwin.example.org\n";
  }
  Table make_table() { return balance::make_table(folder_ / "run/x.conf.table", config_); }
  base::Result<HandChanged> change(const HandChange& change) { return change_by_hand(config_, roots_, "boot", change); }
  base::Result<HandChanged> set_weight(const std::string& host, double weight) {
    return change([&](std::vector<HandEntry>& entries, std::int64_t) {
      entry_of(entries, host).weight = weight;
      return base::ok();
    });
  }
  base::Result<HandChanged> drain(const std::string& host, std::int64_t seconds) {
    return change([&](std::vector<HandEntry>& entries, std::int64_t now) {
      HandEntry& entry = entry_of(entries, host);
      entry.duty = Duty::draining;
      entry.since = now;
      entry.until = now + seconds;
      return base::ok();
    });
  }
  std::string kept() const { return folder_ / "lib/x.conf.byhand"; }
  HandFiles files() const { return hand_files(config_, state_files(roots_.standard, config_.file), roots_); }

  ScratchDir folder_;
  Config config_;
  StateRoots roots_;
};

TEST_F(HandFilesOnDisk, AChangeIsInTheFileAndInTheTableAtOnce) {
  const Table table = make_table();
  const base::Result<HandChanged> done = set_weight("pinchot", 2.5);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->path, kept());
  EXPECT_EQ(done->tables, std::vector<std::string>{folder_ / "run/x.conf.table"});
  EXPECT_EQ(table.live(0, base::now()).by_hand.weight, 2.5);
  EXPECT_EQ(table.weights_differ(), true);
  ASSERT_TRUE(drain("leopold", 3600));
  const ByHand said = table.live(1, base::now()).by_hand;
  EXPECT_EQ(duty_at(said, base::now()), Duty::draining);
  EXPECT_EQ(duty_at(said, base::now() + Seconds{3500}), Duty::draining);
  EXPECT_EQ(duty_at(said, base::now() + Seconds{3602}), Duty::serving);
  EXPECT_EQ(table.live(0, base::now()).by_hand.weight, 2.5);
  struct stat status = {};
  ASSERT_EQ(stat(kept().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644U);
}

TEST_F(HandFilesOnDisk, WithoutATableItWaitsForOne) {
  const base::Result<HandChanged> done = set_weight("leopold", 2);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->tables.size(), 0U);
  ASSERT_GE(done->notes.size(), 1U);
  EXPECT_NE(done->notes[0].find("it counts as soon as poolwatch or balance runs"), std::string::npos);
  Table table = make_table();
  ASSERT_TRUE(apply_kept(files(), config_, table));
  EXPECT_EQ(table.live(1, base::now()).by_hand.weight, 2);
  EXPECT_EQ(table.weights_differ(), true);
}

TEST_F(HandFilesOnDisk, WhatIsOverIsForgottenAtTheNextChangeAndCountsNoLongerBefore) {
  mkdir(roots_.kept.c_str(), 0755);
  ASSERT_TRUE(base::write_file(kept(), "pinchot weight=3 duty=off until=2001-01-01T00:00:00Z reason=old\n"));
  Table table = make_table();
  ASSERT_TRUE(apply_kept(files(), config_, table));
  EXPECT_EQ(duty_at(table.live(0, base::now()).by_hand, base::now()), Duty::serving);
  ASSERT_TRUE(set_weight("darwin", 4));
  EXPECT_EQ(parse_hand_text(*base::read_file(kept()), "f").entries,
            (std::vector<HandEntry>{{.host = "pinchot", .weight = 3}, {.host = "darwin", .weight = 4}}));
}

TEST_F(HandFilesOnDisk, TheRestOfADamagedFileStaysAndTheDamageIsNamed) {
  mkdir(roots_.kept.c_str(), 0755);
  ASSERT_TRUE(base::write_file(kept(), "pinchot duty=drowning weight=3\nnobody weight=2\n\x01\n"));
  const Table table = make_table();
  const base::Result<HandChanged> done = set_weight("darwin", 4);
  ASSERT_TRUE(done);
  EXPECT_EQ(table.live(0, base::now()).by_hand.weight, 3);
  std::string notes;
  for (const std::string& note : done->notes) notes += note + "\n";
  EXPECT_NE(notes.find(kept() + ":1: duty is 'drowning'; wanted draining, off or serving (left out)"),
            std::string::npos)
      << notes;
  EXPECT_NE(notes.find(kept() + ":3: found '\\x01'"), std::string::npos) << notes;
  EXPECT_NE(notes.find("nobody is no host of " + config_.file), std::string::npos) << notes;
  EXPECT_EQ(parse_hand_text(*base::read_file(kept()), "f").entries.size(), 3U);  // nobody may come back
}

TEST_F(HandFilesOnDisk, ManyAtOnceLoseNothing) {
  const Table table = make_table();
  const std::vector<std::string> names{"pinchot", "leopold", "darwin"};
  std::vector<pid_t> children;
  for (int child = 0; child < 6; ++child) {
    const pid_t id = fork();
    if (id == 0) {
      for (int i = 0; i < 10; ++i) {
        const std::string own = "other" + std::to_string(child) + "-" + std::to_string(i);
        if (!set_weight(own, 1) || !set_weight(names[static_cast<std::size_t>(child) % 3], child + 1)) _exit(1);
      }
      _exit(0);
    }
    children.push_back(id);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const HandText text = parse_hand_text(*base::read_file(kept()), "f");
  EXPECT_EQ(text.entries.size(), 63U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto entry = std::ranges::find(text.entries, names[i], &HandEntry::host);
    ASSERT_NE(entry, text.entries.end());
    EXPECT_EQ(table.live(i, base::now()).by_hand.weight, entry->weight);  // what the file has, the table has
  }
}

TEST_F(HandFilesOnDisk, NamesFiveStrangersAndCountsTheRest) {
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(set_weight("stranger" + std::to_string(i), 2));
  const base::Result<HandChanged> done = set_weight("pinchot", 2);
  ASSERT_TRUE(done);
  std::vector<std::string> notes = done->notes;
  std::erase_if(notes, [](const std::string& note) { return note.find("host") == std::string::npos; });
  ASSERT_EQ(notes.size(), 6U);
  EXPECT_EQ(notes[0],
            kept() + ": stranger0 is no host of " + config_.file + "; 'balancectl reset stranger0' forgets it");
  EXPECT_EQ(notes[5], kept() + ": 4 more are no hosts of it");
}

// A drain of an hour, read again after the clock was set, and after a reboot.
TEST_F(HandFilesOnDisk, ADutyWithAnEndOutlivesAJumpOfTheClockAndAReboot) {
  ASSERT_TRUE(drain("darwin", 3600));
  const HandClocks now = hand_clocks();
  const auto end_after = [this](const HandClocks& clocks) {
    const base::Result<Kept> kept = read_kept(files(), clocks);
    const Seconds ahead{static_cast<double>(clocks.wall) - 1000};  // the monotonic clock stands at 1000 s
    return set_by_hand_of(kept->text, config_, ahead).hosts.at(2).until->time_since_epoch().count() - 1000;
  };
  EXPECT_NEAR(end_after(now), 3600, 2);
  EXPECT_NEAR(end_after({.wall = now.wall + 86400, .boot = now.boot, .booted = now.booted + 86400}), 3600, 2);
  EXPECT_NEAR(end_after({.wall = now.wall - 86400, .boot = now.boot, .booted = now.booted - 86400}), 3600, 2);
  EXPECT_NEAR(end_after({.wall = now.wall + 1200, .boot = "another0", .booted = now.wall + 1100}), 2400, 2);
  EXPECT_NEAR(end_after({.wall = 60, .boot = "another0", .booted = 0}), 3600, 2);
  EXPECT_LT(end_after({.wall = now.wall + 4000, .boot = "another0", .booted = now.wall + 3900}), 0);
}

TEST_F(HandFilesOnDisk, ATableMadeAnewHasThemBeforeItHasItsName) {
  ASSERT_TRUE(drain("darwin", 3600));
  const base::Result<Kept> kept = read_kept(files());
  ASSERT_TRUE(kept);
  const SetByHand all = set_by_hand_of(kept->text, config_, base::wall_time() - base::now().time_since_epoch());
  const TableShape shape{config_.fingerprint, config_.hosts.size(), "boot"};
  const base::Result<Table> table = Table::create(folder_ / "run/x.conf.table", shape, {}, &all);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->live(2, base::now()).by_hand.duty, Duty::draining);
}

TEST_F(HandFilesOnDisk, AnOlderFileNeverUndoesAYoungerWord) {
  Table table = make_table();
  const std::vector<std::uint64_t> seen = table.words_by_hand();
  ASSERT_TRUE(set_weight("pinchot", 5));  // somebody who was quicker
  EXPECT_FALSE(table.set_by_hand(SetByHand{}, seen));
  EXPECT_EQ(table.live(0, base::now()).by_hand.weight, 5);
  EXPECT_EQ(table.weights_differ(), true);
}

TEST_F(HandFilesOnDisk, DrainingTheLastHostIsToldOf) {
  constexpr std::int64_t kNow = 1000;
  std::vector<HandEntry> entries;
  EXPECT_FALSE(leaves_nobody(config_, entries, kNow));
  for (const char* host : {"pinchot", "leopold"}) entry_of(entries, host).duty = Duty::draining;
  EXPECT_FALSE(leaves_nobody(config_, entries, kNow));
  entry_of(entries, "darwin").weight = 0;
  EXPECT_TRUE(leaves_nobody(config_, entries, kNow));
  entry_of(entries, "leopold").until = kNow;  // over
  EXPECT_FALSE(leaves_nobody(config_, entries, kNow));
}

TEST_F(HandFilesOnDisk, AnErrorOfTheChangeLeavesAllAsItWas) {
  ASSERT_TRUE(set_weight("pinchot", 5));
  const std::string before = *base::read_file(kept());
  const base::Result<HandChanged> done = change([](std::vector<HandEntry>& entries, std::int64_t) -> base::Status {
    entries.clear();
    return base::Error{base::Fault::usage, "no"};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, base::Fault::usage);
  EXPECT_EQ(*base::read_file(kept()), before);
}

TEST_F(HandFilesOnDisk, WhereKeepDirCannotBeMadeTheyLieBesideTheTableAndMoveLater) {
  ASSERT_TRUE(base::write_file(folder_ / "lib", "no folder\n"));
  const base::Result<HandChanged> beside = set_weight("pinchot", 5);
  ASSERT_TRUE(beside) << beside.error().what;
  EXPECT_EQ(beside->path, folder_ / "run/x.conf.byhand");
  std::string notes;
  for (const std::string& note : beside->notes) notes += note + "\n";
  EXPECT_NE(notes.find("not kept in keep-dir"), std::string::npos) << notes;
  EXPECT_EQ(read_kept(files())->path, beside->path);
  unlink((folder_ / "lib").c_str());
  ASSERT_TRUE(set_weight("darwin", 2));
  EXPECT_EQ(read_kept(files())->path, kept());
  EXPECT_EQ(read_kept(files())->text.entries.size(), 2U);
  EXPECT_NE(access((folder_ / "run/x.conf.byhand").c_str(), F_OK), 0);
}

TEST_F(HandFilesOnDisk, LinksPipesAndHugeFilesAreRefusedAndNamed) {
  mkdir(roots_.kept.c_str(), 0755);
  const auto refusal = [this] {
    const base::Result<Kept> read = read_kept(files());
    return read ? std::string() : read.error().what;
  };
  ASSERT_EQ(symlink("/etc/passwd", kept().c_str()), 0);
  EXPECT_NE(refusal().find("cannot open " + kept()), std::string::npos);
  EXPECT_FALSE(set_weight("pinchot", 1));
  unlink(kept().c_str());
  ASSERT_EQ(mkfifo(kept().c_str(), 0600), 0);
  EXPECT_EQ(refusal(), kept() + ": is no regular file");
  unlink(kept().c_str());
  ASSERT_TRUE(base::write_file(kept(), std::string(9 << 20, 'x')));
  EXPECT_EQ(refusal(), kept() + ": is larger than 8 MB");
}

TEST_F(HandFilesOnDisk, OneThatWasKilledWhileItWroteLeavesNothingThatLasts) {
  ASSERT_TRUE(set_weight("pinchot", 2));
  const std::string half = kept() + ".new", other = folder_ / "other";
  ASSERT_TRUE(base::write_file(half, "pinchot wei", 0600));
  ASSERT_TRUE(set_weight("pinchot", 3));
  EXPECT_NE(access(half.c_str(), F_OK), 0);
  ASSERT_TRUE(base::write_file(other, "of somebody else"));
  ASSERT_EQ(symlink(other.c_str(), half.c_str()), 0);
  ASSERT_TRUE(set_weight("pinchot", 4));
  EXPECT_EQ(*base::read_file(other), "of somebody else");
  EXPECT_EQ(read_kept(files())->text.entries.at(0).weight, 4);
  struct stat status = {};
  EXPECT_NE(lstat(half.c_str(), &status), 0);
}

TEST_F(HandFilesOnDisk, AnotherUserGetsAnErrorAndNothingChanges) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  ASSERT_TRUE(set_weight("pinchot", 5));
  const std::string before = *base::read_file(kept());
  chmod(folder_.path().c_str(), 0755);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    roots_.user = 65534;
    const base::Result<HandChanged> done = set_weight("pinchot", 6);
    if (done) _exit(1);
    _exit(done.error().what.find("wanted root") != std::string::npos ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(*base::read_file(kept()), before);
}

TEST_F(HandFilesOnDisk, RootLeavesTheFileToWhoOwnsItsFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a folder away";
  mkdir(roots_.kept.c_str(), 0755);
  ASSERT_EQ(chown(roots_.kept.c_str(), 65534, 65534), 0);
  ASSERT_TRUE(set_weight("pinchot", 5));
  ASSERT_TRUE(set_weight("pinchot", 6));
  for (const std::string& path : {kept(), kept() + ".lock"}) {
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 65534U) << path;
  }
}

TEST(HandFiles, LieInVarLibUnlessAFolderThatLastsWasConfigured) {
  const auto kept_in = [](const std::string& lines) {
    const Config config = *parse_config(lines + "host = a http://a.example.org\n", "/etc/x.conf");
    const std::string state = config.state_dir.empty() ? "/run/balance" : config.state_dir;
    return hand_files(config, state_files(state, config.file), StateRoots{}).keep;
  };
  EXPECT_EQ(kept_in(""), "/var/lib/balance/x.conf.byhand");
  EXPECT_EQ(kept_in("state-dir = /run/balance\n"), "/var/lib/balance/x.conf.byhand");
  EXPECT_EQ(kept_in("state-dir = /run/maps\n"), "/var/lib/balance/x.conf.byhand");
  EXPECT_EQ(kept_in("state-dir = /srv/balance\n"), "/srv/balance/x.conf.byhand");
  EXPECT_EQ(kept_in("state-dir = /srv/balance\nkeep-dir = /srv/kept\n"), "/srv/kept/x.conf.byhand");
  EXPECT_TRUE(is_volatile("/run/balance/x"));
  EXPECT_TRUE(is_volatile("/tmp/balance-33/x"));
  EXPECT_FALSE(is_volatile("/runner/x"));
}

}  // namespace
}  // namespace balance
