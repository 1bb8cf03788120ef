// SPDX-License-Identifier: MIT
#include "balance/ground/url.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

std::string fault_of(std::string_view text) {
  const base::Result<Url> url = parse_url(text);
  return url ? "" : url.error().what;
}

std::string round_trip(std::string_view text) {
  const base::Result<Url> url = parse_url(text);
  return url ? to_text(*url) : url.error().what;
}

TEST(Url, KeepsSchemeHostPortAndPath) {
  const base::Result<Url> url = parse_url("https://Maps.Example.org:8443/cgi-bin/mapserv");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, Scheme::https);
  EXPECT_EQ(url->host, "maps.example.org");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->path, "/cgi-bin/mapserv");
}

TEST(Url, OmitsTheDefaultPortOfItsSchemeOnly) {
  EXPECT_EQ(round_trip("http://h.example.org:80"), "http://h.example.org");
  EXPECT_EQ(round_trip("https://h.example.org:443"), "https://h.example.org");
  EXPECT_EQ(round_trip("http://h.example.org:443"), "http://h.example.org:443");
  EXPECT_EQ(round_trip("https://h.example.org:80"), "https://h.example.org:80");
  EXPECT_EQ(round_trip("HTTP://h.example.org:8080/"), "http://h.example.org:8080");
}

TEST(Url, BracketsIpv6AndWritesItInOneForm) {
  EXPECT_EQ(round_trip("http://[2001:db8::7]:8080"), "http://[2001:db8::7]:8080");
  EXPECT_EQ(round_trip("http://[2001:DB8:0:0:0:0:0:7]"), "http://[2001:db8::7]");
  EXPECT_EQ(round_trip("http://[::1]:80/x"), "http://[::1]/x");
  EXPECT_EQ(round_trip("http://[::ffff:192.0.2.1]"), "http://[::ffff:192.0.2.1]");
  EXPECT_EQ(parse_url("http://[2001:db8::7]")->host, "2001:db8::7");
}

TEST(Url, RefusesZoneIds) {
  EXPECT_EQ(
      fault_of("http://[fe80::1%eth0]:8080"),
      "'http://[fe80::1%eth0]:8080': host is '[fe80::1%eth0]'; wanted no zone id: it means nothing to other machines");
  EXPECT_NE(fault_of("http://[fe80::1%25eth0]"), "");
}

TEST(Url, NamesTheSchemeThatItDoesNotKnow) {
  EXPECT_EQ(fault_of("htp://h.example.org"), "'htp://h.example.org': scheme is 'htp'; wanted http or https");
  EXPECT_EQ(fault_of("h.example.org:8080"), "'h.example.org:8080': found no scheme; wanted http:// or https://");
  for (const char* bad : {"", "ftp://h", "javascript://h", "http:/h", "//h", "://h", "http:h"})
    EXPECT_NE(fault_of(bad), "") << bad;
}

TEST(Url, RefusesBadPorts) {
  for (const char* bad : {"http://h:0", "http://h:65536", "http://h:", "http://h:80a", "http://h:-1", "http://h:+80",
                          "http://h: 80", "http://h:99999999999999999999", "http://[::1]:x", "http://[::1]80"}) {
    EXPECT_NE(fault_of(bad), "") << bad;
  }
  EXPECT_EQ(fault_of("http://h:70000"), "'http://h:70000': port is '70000'; wanted 1 to 65535");
}

TEST(Url, RefusesHostsThatAreNone) {
  for (const char* bad : {"http://",
                          "http:///x",
                          "http://.",
                          "http://a..b",
                          "http://-a",
                          "http://a-",
                          "http://a b",
                          "http://a\tb",
                          "http://a%41",
                          "http://ex\xC3\xA4mple",
                          "http://256.1.1.1",
                          "http://1.2.3",
                          "http://1",
                          "http://0x7f000001",
                          "http://a.b.10",
                          "http://2001:db8::7",
                          "http://[2001:db8::7",
                          "http://[]",
                          "http://[1.2.3.4]",
                          "http://[::1]x",
                          "http://a]b",
                          "http://user@h",
                          "http://u:p@h",
                          "http://h@evil.example.com",
                          "http://h\\@evil",
                          "http://a,b",
                          "http://*"}) {
    EXPECT_NE(fault_of(bad), "") << bad;
  }
  EXPECT_NE(fault_of("http://" + std::string(64, 'a')), "");
  EXPECT_EQ(fault_of("http://" + std::string(63, 'a')), "");
}

TEST(Url, TakesNamesAndAddressesAsTheyOccur) {
  for (const char* good :
       {"http://localhost", "http://a_b.example.org", "http://xn--mller-kva.example", "http://127.0.0.1:8081",
        "http://h.example.org.", "http://1host.example.org", "http://h/~name/cgi-bin/mapserv.exe"}) {
    EXPECT_EQ(fault_of(good), "") << good;
  }
}

TEST(Url, RefusesWhatIsNoPlainPath) {
  for (const char* bad : {"http://h/a?b", "http://h?b", "http://h/a#b", "http://h#b", "http://h/a b",
                          "http://h/a\r\nX: y", "http://h/\xC3\xA4", "http://h/%4", "http://h/%zz", "http://h/../x",
                          "http://h/a/./b", "http://h/a/%2e%2e/b", "http://h\\x", "http://h/a\\b", "http://h/<x>"}) {
    EXPECT_NE(fault_of(bad), "") << bad;
  }
  EXPECT_EQ(fault_of(std::string_view("http://h/a\0b", 12)),
            "'http://h/a\\x00b': path is '/a\\x00b'; wanted only bytes that may stand in a URL");
}

TEST(Url, EveryTruncationIsAUrlOrAnError) {
  const std::string whole = "https://[2001:db8::7]:8443/cgi-bin/%41map";
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const base::Result<Url> url = parse_url(whole.substr(0, length));
    if (url) {
      EXPECT_EQ(*parse_url(to_text(*url)), *url) << length;
    } else {
      EXPECT_NE(url.error().what, "") << length;
    }
  }
}

TEST(Url, TheSameServerWhateverTheSpelling) {
  EXPECT_TRUE(same_server(*parse_url("http://H.example.org:80/a"), *parse_url("http://h.example.org./b")));
  EXPECT_TRUE(same_server(*parse_url("https://[::1]"), *parse_url("https://[0:0::1]:443")));
  EXPECT_FALSE(same_server(*parse_url("http://h.example.org"), *parse_url("https://h.example.org")));
  EXPECT_FALSE(same_server(*parse_url("http://h.example.org"), *parse_url("http://h.example.org:8080")));
  EXPECT_FALSE(same_server(*parse_url("http://h.example.org"), *parse_url("http://g.example.org")));
}

TEST(SafeInHeader, LeavesLegalBytesAlone) {
  const std::string legal = "ABCXYZabcxyz0189-._~:/?[]@!$&'()*+,;=%41%zz%";
  EXPECT_EQ(safe_in_header(legal), legal);
}

TEST(SafeInHeader, EncodesEveryByteThatMayNotStandInAUri) {
  EXPECT_EQ(safe_in_header(" \"<>\\^`{|}#"), "%20%22%3C%3E%5C%5E%60%7B%7C%7D%23");
  EXPECT_EQ(safe_in_header(std::string_view("\0\r\n\t\x1F\x7F\x80\xFF", 8)), "%00%0D%0A%09%1F%7F%80%FF");
}

TEST(SafeInHeader, LosesAndInventsNoByte) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decoded(safe_in_header(all)), all);
}

TEST(EncodedPath, ComesBackWhenDecodedWithoutGainingAQuery) {
  const std::string path = "/a b/100%/what?/#1/%41/\xC3\xA4\r\n";
  EXPECT_EQ(encoded_path(path), "/a%20b/100%25/what%3F/%231/%2541/%C3%A4%0D%0A");
  EXPECT_EQ(percent_decoded(encoded_path(path)), path);
}

TEST(PercentDecoded, LeavesBrokenCodesAlone) {
  EXPECT_EQ(percent_decoded("%41%4a%4A%2520"), "AJJ%20");
  EXPECT_EQ(percent_decoded("%"), "%");
  EXPECT_EQ(percent_decoded("%4"), "%4");
  EXPECT_EQ(percent_decoded("%4g%g4%%41"), "%4g%g4%A");
  EXPECT_EQ(percent_decoded("a+b"), "a+b");
}

}  // namespace
}  // namespace balance
