// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "loadprobe/base/file.h"
#include "loadprobe/command_line.h"
#include "loadprobe/commands.h"
#include "tests/unit/scratch_dir.h"

namespace loadprobe {
namespace {

TEST(CommandLine, WithoutArgumentsItServes) {
  const auto command = parse_command_line({});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->kind, Command::Kind::serve);
  EXPECT_FALSE(command->config);
}

TEST(CommandLine, TheWordsBehindDrainAreTheReason) {
  const auto command = parse_command_line({"--config", "/x.conf", "--drain", "off:", "kernel", "update"});
  ASSERT_TRUE(command) << command.error().what;
  EXPECT_EQ(command->kind, Command::Kind::drain);
  EXPECT_EQ(command->config, "/x.conf");
  EXPECT_EQ(command->reason, "off: kernel update");
  EXPECT_EQ(parse_command_line({"--drain"})->reason, "");
  EXPECT_EQ(parse_command_line({"--drain", "one reason"})->reason, "one reason");
}

TEST(CommandLine, KnowsItsActions) {
  EXPECT_EQ(parse_command_line({"--once"})->kind, Command::Kind::once);
  EXPECT_EQ(parse_command_line({"--check"})->kind, Command::Kind::check);
  EXPECT_EQ(parse_command_line({"--ready"})->kind, Command::Kind::ready);
  EXPECT_EQ(parse_command_line({"--help"})->kind, Command::Kind::help);
  EXPECT_EQ(parse_command_line({"--version"})->kind, Command::Kind::version);
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(parse_command_line({"--onc"}).error().what, "unrecognised option '--onc'");
  EXPECT_EQ(parse_command_line({"--once", "--drain"}).error().what, "--once and --drain are given; wanted one of them");
  EXPECT_EQ(parse_command_line({"foo"}).error().what, "found 'foo'; only --drain takes words, its reason");
  EXPECT_EQ(parse_command_line({"--config"}).error().fault, base::Fault::usage);
  EXPECT_FALSE(parse_command_line({"--once=1"}));
}

TEST(CommandLine, UsageNamesEveryOption) {
  for (const char* option : {"--config", "--once", "--check", "--drain", "--ready", "--help", "--version"}) {
    EXPECT_NE(usage().find(option), std::string::npos) << option;
  }
}

TEST(CommandLine, CheckSaysWhichFileItFoundFine) {
  const ::ScratchDir folder;
  const std::string file = folder / "loadprobe.conf";
  ASSERT_TRUE(base::write_file(file, "listen = 127.0.0.1:9719\n"));
  testing::internal::CaptureStdout();
  const base::Status checked = run({.kind = Command::Kind::check, .config = {}, .reason = {}}, file);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), file + ": fine\n");
  EXPECT_TRUE(checked);
}

}  // namespace
}  // namespace loadprobe
