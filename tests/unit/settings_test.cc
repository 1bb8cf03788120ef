// SPDX-License-Identifier: MIT
#include "loadprobe/base/settings.h"

#include <gtest/gtest.h>

namespace base {
namespace {

std::string flat(const Settings& settings) {
  std::string out;
  for (const Setting& setting : settings.list) out += setting.key + "=" + setting.value + "\n";
  return out;
}

std::string parsed(std::string_view text) {
  const Result<Settings> settings = parse_settings(text, "x.conf");
  return settings ? flat(*settings) : "error: " + settings.error().what;
}

TEST(Settings, KeepTheOrderOfTheFileAndEveryRepetition) {
  EXPECT_EQ(parsed("host = b\nmode = auto\nhost = a\n"), "host=b\nmode=auto\nhost=a\n");
}

TEST(Settings, SectionsPrefixTheKeysBelowThem) {
  EXPECT_EQ(parsed("mode = auto\n[probe]\ninterval = 1s\n[relay]\ntimeout=2s\n"),
            "mode=auto\nprobe.interval=1s\nrelay.timeout=2s\n");
}

TEST(Settings, HashEndsALineAnywhere) {
  EXPECT_EQ(parsed("# all\na = 1 # one\nb = x%23y#z\n   # c = 3\n"), "a=1\nb=x%23y\n");
}

TEST(Settings, SkipAByteOrderMarkAndCarriageReturns) {
  EXPECT_EQ(parsed("\xEF\xBB\xBF"
                   "a = 1\r\nb=2\r\n"),
            "a=1\nb=2\n");
}

TEST(Settings, OnlyTheFirstEqualsSignSeparates) { EXPECT_EQ(parsed("q = a=b"), "q=a=b\n"); }

TEST(Settings, AnEmptyFileHasNone) { EXPECT_EQ(parsed(""), ""); }

TEST(Settings, AnEmptyValueIsAValue) { EXPECT_EQ(parsed("a ="), "a=\n"); }

TEST(Settings, EveryFaultOfFormIsListedWithItsLine) {
  EXPECT_EQ(parsed("a = 1\nnonsense\n\n= 3\n[]\n[open\nb = 2\n"),
            "error: x.conf:2: found 'nonsense'; wanted 'key = value' or '[section]'\n"
            "x.conf:4: found '= 3'; wanted 'key = value' or '[section]'\n"
            "x.conf:5: found an empty section name; wanted '[section]'\n"
            "x.conf:6: found '[open'; wanted 'key = value' or '[section]'");
}

TEST(Settings, AFaultOfFormNamesItsFile) {
  EXPECT_EQ(parsed("nonsense"), "error: x.conf:1: found 'nonsense'; wanted 'key = value' or '[section]'");
}

TEST(Settings, AnEmptyKeyInASectionIsAFault) {
  EXPECT_EQ(parsed("[probe]\n= 3"), "error: x.conf:2: found '= 3'; wanted 'key = value' or '[section]'");
}

TEST(Settings, ControlBytesAreAFaultAndAreNotEchoed) {
  EXPECT_EQ(parsed("a = 1\x1B[2J"), "error: x.conf:1: found a control byte in 'a = 1\\x1B[2J'; wanted text");
  EXPECT_EQ(parsed(std::string_view("a = 1\0", 6)),
            "error: x.conf:1: found a control byte in 'a = 1\\x00'; wanted text");
}

TEST(Settings, AnEmptySectionNameInACommentIsNone) { EXPECT_EQ(parsed("a = 1 # []\n"), "a=1\n"); }

TEST(Settings, FaultsOfMeaningAndOfFormComeInTheOrderOfTheFile) {
  const std::string_view text = "a = 1\n\nnonsense\n[s]\nb = 2 # two\n";
  const Error error = all_faults(text, "x.conf", {{1, "b is wrong"}, {0, "a is wrong"}, {2, "c is missing"}});
  EXPECT_EQ(error.what,
            "x.conf:1: a is wrong\n"
            "x.conf:3: found 'nonsense'; wanted 'key = value' or '[section]'\n"
            "x.conf:5: b is wrong\n"
            "x.conf: c is missing");
  EXPECT_EQ(error.fault, Fault::usage);
}

TEST(Settings, TheSoundOnesAreReadBesideFaultyLines) {
  EXPECT_EQ(flat(sound_settings("a = 1\nnonsense\n[s]\nb = 2\n[]\nc = 3\n", "x.conf")), "a=1\ns.b=2\ns.c=3\n");
}

TEST(Settings, BothPathsReadTheSame) {
  const std::string_view text = "\xEF\xBB\xBF# c\na = 1\r\n[s]\n b.c\t=  2 # x\n[t.]\nd==\n[ u ]\ne=1\n[v]]\nf = [x]\n";
  EXPECT_EQ(parsed(text), flat(sound_settings(text, "x.conf")));
}

TEST(Settings, EveryTruncationIsReadOrRefusedWithALine) {
  const std::string_view text = "a = 1 # c\n[s]\nb = 2\nc = d = e\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const Result<Settings> settings = parse_settings(text.substr(0, size), "x.conf");
    if (!settings) {
      EXPECT_TRUE(settings.error().what.starts_with("x.conf:")) << settings.error().what;
    } else {
      EXPECT_EQ(flat(*settings), flat(sound_settings(text.substr(0, size), "x.conf")));
    }
  }
}

TEST(Settings, UnknownKeyNamesTheNearest) {
  EXPECT_EQ(unknown_key("wieght", {"host", "weight"}), "unknown key 'wieght'; the nearest known one is 'weight'");
  EXPECT_EQ(unknown_key("colour", {"host", "weight"}), "unknown key 'colour'");
}

// A host line appended below [probe] was told that 'probe.port' is near.
TEST(UnknownKey, OfAnotherSectionIsToldWhereItBelongs) {
  const std::vector<std::string_view> known{"host", "probe.interval"};
  EXPECT_EQ(unknown_key("probe.host", known),
            "unknown key 'probe.host': 'host' lines stand before the first [section]");
  EXPECT_EQ(unknown_key("interval", known), "unknown key 'interval': it belongs below [probe]");
}

}  // namespace
}  // namespace base
