// SPDX-License-Identifier: MIT
// Which URLs name the map script, and where a text does.
#include <gtest/gtest.h>

#include "balance/forms/script_url.h"

namespace balance::forms {
namespace {

using Offsets = std::vector<std::size_t>;

std::optional<std::size_t> by_default(std::string_view path) { return script_length(path, default_scripts()); }

TEST(FormsScript, IsTheLastPartWhateverItsCase) {
  EXPECT_EQ(by_default("mapserv"), 7U);
  EXPECT_EQ(by_default("../../fcgi/MapServ.FCGI"), 23U);
  EXPECT_EQ(by_default("/cgi-bin/mapserv.exe"), 20U);
}

TEST(FormsScript, HasPathInformationOnlyBelowCgiBin) {
  EXPECT_EQ(by_default("/~gis/cgi-bin/mapserv/world/x"), 21U);
  EXPECT_EQ(by_default("/cgi-bin//mapserv/"), 17U);
  EXPECT_FALSE(by_default("/mapserv/index.html"));
  EXPECT_FALSE(by_default("/mapserv/"));
}

TEST(FormsScript, IsNoOtherName) {
  EXPECT_FALSE(by_default("/cgi-bin/mapserver"));
  EXPECT_FALSE(by_default("/cgi-bin/xmapserv"));
  EXPECT_FALSE(by_default("/cgi-bin/mapserv.html"));
  EXPECT_FALSE(by_default(""));
  EXPECT_FALSE(by_default("/"));
}

TEST(FormsHead, ReadsRelativeAndAbsolute) {
  EXPECT_EQ(read_head("../x").kind, Head::Kind::relative);
  const auto absolute = read_head("HTTP://[::1]:80/x");
  EXPECT_EQ(absolute.kind, Head::Kind::absolute);
  EXPECT_EQ(absolute.authority, "[::1]:80");
  EXPECT_EQ(absolute.path, "/x");
  EXPECT_EQ(read_head("//a.example.org/x").authority, "a.example.org");
}

TEST(FormsHead, DoubtsWhatIsNotPlain) {
  for (const auto* text : {"http:/x", "http:x", "http://u@h/x", "http://[host]:[port]/x", "/a b", "/a&b", "/a\\b",
                           "/[x]", "/\xE9", "~/x", "$base/x", "http:///x", "http://[::1/x", "1http://h/x"}) {
    EXPECT_EQ(read_head(text).kind, Head::Kind::unclear) << text;
  }
  EXPECT_EQ(read_head("javascript:x").kind, Head::Kind::foreign);
  EXPECT_EQ(read_head("wms://h/cgi-bin/mapserv").kind, Head::Kind::foreign);
}

TEST(FormsMentions, AreUrlsInAnyText) {
  const auto scripts = default_scripts();
  EXPECT_EQ(mentions("u='/cgi-bin/mapserv?x'", scripts), (Offsets{3}));
  EXPECT_EQ(mentions("u=\"http://h:80/cgi-bin/mapserv\"+q", scripts), (Offsets{3}));
  EXPECT_EQ(mentions("u = \"mapserv\";", scripts), (Offsets{5}));
  EXPECT_EQ(mentions("mapserv?mode=map", scripts), (Offsets{0}));
  EXPECT_EQ(mentions("mapserv.exe", scripts), (Offsets{0}));
  EXPECT_EQ(mentions("\"\\/cgi-bin\\/mapserv\"", scripts), (Offsets{11}));
  EXPECT_EQ(mentions("see /cgi-bin/mapserv.", scripts), (Offsets{4}));
  EXPECT_EQ(mentions("[PROGRAM] [wms_onlineresource] [map]", scripts), (Offsets{0, 10}));
}

TEST(FormsMentions, AreNoNamesOfFormsAndVariables) {
  const auto scripts = default_scripts();
  EXPECT_TRUE(mentions("document.mapserv.submit(); document.forms['mapserv']; byName(\"mapserv\")", scripts).empty());
  EXPECT_TRUE(mentions("var mapserv = 1; // made with mapserv", scripts).empty());
  EXPECT_TRUE(mentions("<!-- MapServer Template --> http://mapserver.org/", scripts).empty());
}

}  // namespace
}  // namespace balance::forms
