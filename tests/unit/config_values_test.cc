// SPDX-License-Identifier: MIT
#include "balance/ground/config_values.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

using base::Seconds;

enum class Colour { red, green, blue };
constexpr std::array<Named<Colour>, 3> kColours{
    {{"red", Colour::red}, {"green", Colour::green}, {"blue", Colour::blue}}};

TEST(ConfigValues, AChoiceIsOneOfItsWordsAndNamesThemAll) {
  Colour colour = Colour::red;
  EXPECT_EQ(read_choice("blue", kColours, colour), "");
  EXPECT_EQ(colour, Colour::blue);
  EXPECT_EQ(read_choice("grene", kColours, colour), " is 'grene'; wanted red, green or blue; the nearest is 'green'");
  EXPECT_EQ(read_choice("Red", kColours, colour), " is 'Red'; wanted red, green or blue; the nearest is 'red'");
  EXPECT_EQ(colour, Colour::blue);
  EXPECT_EQ(name_in(kColours, Colour::green), "green");
  EXPECT_EQ(name_in(kColours, static_cast<Colour>(7)), "");
}

TEST(ConfigValues, ANumberIsNoNearestWord) { EXPECT_EQ(nearest_of("302", {"307"}), ""); }

TEST(ConfigValues, ARangeHasItsEnds) {
  unsigned number = 7;
  EXPECT_EQ(read_whole("1", {1, 64}, number), "");
  EXPECT_EQ(number, 1U);
  EXPECT_EQ(read_whole("64", {1, 64}, number), "");
  for (const char* bad : {"0", "65", "-1", "1.5", "", "x", "18446744073709551617"}) {
    EXPECT_EQ(read_whole(bad, {1, 64}, number), " is '" + std::string(bad) + "'; wanted 1 to 64");
  }
  EXPECT_EQ(number, 64U);
  std::optional<std::uint16_t> port;
  EXPECT_EQ(read_whole("65535", {0, 65535}, port), "");
  EXPECT_EQ(port, 65535);
}

TEST(ConfigValues, ADurationHasAUnitAndARange) {
  constexpr DurationRange kRange{Seconds{0.1}, Seconds{3600}};
  Seconds time{7};
  EXPECT_EQ(read_duration("100ms", kRange, time), "");
  EXPECT_EQ(time, Seconds{0.1});
  EXPECT_EQ(read_duration("2h", kRange, time), " is '2h'; wanted 100ms to 1h");
  EXPECT_NE(read_duration("2", kRange, time), "");
  EXPECT_EQ(time, Seconds{0.1});
  std::optional<Seconds> other;
  EXPECT_EQ(read_duration("1h", kRange, other), "");
  EXPECT_EQ(other, Seconds{3600});
}

TEST(ConfigValues, ASizeIsInBytesOrPowersOf1024) {
  constexpr SizeRange kRange{1024, 2048, "1kB to 2kB"};
  std::uint64_t bytes = 7;
  EXPECT_EQ(read_size("2kB", kRange, bytes), "");
  EXPECT_EQ(bytes, 2048U);
  EXPECT_EQ(read_size("1023", kRange, bytes), " is '1023'; wanted 1kB to 2kB");
  EXPECT_NE(read_size("1TB", kRange, bytes), "");
  EXPECT_EQ(bytes, 2048U);
}

TEST(ConfigValues, APathOfAScriptHasNoSlashAtItsEnd) {
  std::string path = "/old";
  EXPECT_EQ(read_script_path("/cgi-bin/mapserv//", path), "");
  EXPECT_EQ(path, "/cgi-bin/mapserv");
  EXPECT_EQ(read_script_path("/", path), "");
  EXPECT_EQ(path, "/");
  EXPECT_EQ(read_script_path("cgi", path), ": path is 'cgi'; wanted one that begins with '/'");
  EXPECT_EQ(read_absolute_path("run", path), " is 'run'; wanted an absolute path");
  EXPECT_EQ(path, "/");
}

TEST(ConfigValues, AListHasBlanksCommasOrBoth) {
  EXPECT_EQ(list_of(" a, b\tc,,d "), (std::vector<std::string_view>{"a", "b", "c", "d"}));
  EXPECT_TRUE(list_of(" , ").empty());
}

}  // namespace
}  // namespace balance
