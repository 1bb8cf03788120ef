// SPDX-License-Identifier: MIT
#include "loadprobe/base/network.h"

#include <gtest/gtest.h>

namespace base {
namespace {

std::string round_trip(std::string_view text) {
  const std::optional<Address> address = parse_address(text);
  return address ? to_text(*address) : "none";
}

TEST(Network, ReadsAddressesOfBothFamilies) {
  EXPECT_EQ(round_trip("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(round_trip("2001:DB8:0::7"), "2001:db8::7");
  EXPECT_EQ(round_trip("[::1]"), "::1");
  EXPECT_EQ(round_trip("::"), "::");
}

TEST(Network, AMappedAddressIsTheIpv4Address) {
  EXPECT_EQ(parse_address("::ffff:192.0.2.1"), parse_address("192.0.2.1"));
  EXPECT_TRUE(parse_address("::ffff:192.0.2.1")->is_ipv4());
  EXPECT_FALSE(parse_address("::192.0.2.1")->is_ipv4());
}

TEST(Network, RefusesWhatIsNoNumericAddress) {
  using namespace std::string_view_literals;
  for (const std::string_view bad : {""sv, "localhost"sv, "1.2.3"sv, "1.2.3.4.5"sv, "256.1.1.1"sv, "01.2.3.4"sv,
                                     "[1.2.3.4]"sv, "fe80::1%eth0"sv, "::1]"sv, "[::1"sv, "1:2"sv, " 1.2.3.4"sv,
                                     "1.2.3.4\0"sv, "1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111:2222"sv}) {
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
}

TEST(Network, ARangeContainsItsAddressesAndNoOthers) {
  const Cidr range = *parse_cidr("172.16.0.0/12");
  EXPECT_TRUE(contains(range, *parse_address("172.31.255.255")));
  EXPECT_FALSE(contains(range, *parse_address("172.32.0.0")));
  EXPECT_TRUE(contains(*parse_cidr("2001:db8::/33"), *parse_address("2001:db8:7fff::1")));
  EXPECT_FALSE(contains(*parse_cidr("2001:db8::/33"), *parse_address("2001:db8:8000::1")));
}

TEST(Network, ABareAddressIsARangeOfOne) {
  EXPECT_TRUE(contains(*parse_cidr("192.0.2.1"), *parse_address("192.0.2.1")));
  EXPECT_FALSE(contains(*parse_cidr("192.0.2.1"), *parse_address("192.0.2.2")));
}

TEST(Network, EverythingOfOneFamilyIsNothingOfTheOther) {
  EXPECT_TRUE(contains(*parse_cidr("0.0.0.0/0"), *parse_address("8.8.8.8")));
  EXPECT_FALSE(contains(*parse_cidr("0.0.0.0/0"), *parse_address("2001:db8::1")));
  EXPECT_TRUE(contains(*parse_cidr("::/0"), *parse_address("8.8.8.8")));
}

TEST(Network, ARangeWithBitsBehindItsPrefixIsNamed) {
  EXPECT_EQ(parse_cidr("10.1.2.3/8").error().what,
            "'10.1.2.3/8' has bits set behind its prefix; wanted '10.0.0.0/8' or a single address");
}

TEST(Network, RefusesWhatIsNoRange) {
  EXPECT_EQ(parse_cidr("10.0.0.0/33").error().what,
            "'10.0.0.0/33' is no range of addresses; wanted one as in '10.0.0.0/8' or '2001:db8::/32'");
  for (const char* bad :
       {"", "/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "[::]/0", "::/129", "10.0/8", "10.0.0.0 /8"}) {
    EXPECT_FALSE(parse_cidr(bad)) << bad;
  }
}

TEST(Network, LocalNetworksAreLoopbackPrivateAndLinkLocal) {
  const std::vector<Cidr> local = local_networks();
  for (const char* inside :
       {"127.0.0.5", "::1", "10.9.8.7", "172.20.1.1", "192.168.1.1", "169.254.9.9", "fe80::1", "fd00::1"}) {
    EXPECT_TRUE(contains(local, *parse_address(inside))) << inside;
  }
  for (const char* outside : {"8.8.8.8", "172.32.0.1", "2001:db8::1", "0.0.0.0", "::", "::2", "ff02::1"}) {
    EXPECT_FALSE(contains(local, *parse_address(outside))) << outside;
  }
}

TEST(Network, ReadsEndpoints) {
  EXPECT_EQ(to_text(parse_endpoint("127.0.0.1:9719")->address), "127.0.0.1");
  EXPECT_EQ(parse_endpoint("127.0.0.1:9719")->port, 9719);
  EXPECT_EQ(to_text(parse_endpoint("[::]:0")->address), "::");
  EXPECT_EQ(parse_endpoint("[2001:db8::7]:65535")->port, 65535);
}

TEST(Network, RefusesWhatIsNoEndpoint) {
  EXPECT_EQ(parse_endpoint("localhost:80").error().what,
            "'localhost:80' is no address to listen at; wanted a numeric address and a port, as in '127.0.0.1:9719' or "
            "'[::]:9719'");
  for (const char* bad :
       {"", ":", ":9719", "9719", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1]", "1.2.3.4:+1"}) {
    EXPECT_FALSE(parse_endpoint(bad)) << bad;
  }
}

}  // namespace
}  // namespace base
