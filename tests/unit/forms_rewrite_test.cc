// SPDX-License-Identifier: MIT
// Pages as administrators have them: what is rewritten is exactly a URL's beginning, and every other byte stays.
#include "tests/unit/forms_pages.h"

namespace balance::forms {
namespace {

TEST(FormsRewrite, BringsABrowseTemplateBack) {
  const auto page = data("browse.html");
  const auto plan = sound_plan(page);
  EXPECT_EQ(replaced(page, plan), (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv",
                                         "http://gis.example.org/cgi-bin/mapserv.exe"}));
  EXPECT_EQ(remarks(plan, Weight::unsure),
            (Texts{"8 JavaScript names the script", "9 JavaScript names the script",
                   "15 <input value> '/cgi-bin/mapserv' names the script",
                   "22 <a href> '[program]?[get_query]' is filled in by mapserv",
                   "31 <a href> '?mode=browse' goes to the page's own address, after a redirect that is the host's"}));
  EXPECT_EQ(remarks(plan, Weight::note),
            (Texts{"14 <form method=post>: the balancer relays a POST or answers 307, method=get takes the shorter way",
                   "30 a comment names the script"}));
}

TEST(FormsRewrite, BringsAQueryTemplateBack) {
  const auto page = data("query.html");
  const auto plan = sound_plan(page);
  EXPECT_EQ(replaced(page, plan), (Texts{"/cgi-bin/mapserv", "../cgi-bin/mapserv", "mapserv"}));
  EXPECT_EQ(remarks(plan, Weight::unsure),
            (Texts{"5 <a href> '[mapserv_onlineresource]mode=map' is filled in by mapserv",
                   "8 <form> without action goes to the page's own address, after a redirect that is the host's",
                   "9 <form action> '[program]' is filled in by mapserv"}));
}

TEST(FormsRewrite, BringsFramesBackAndNamesTheTextForBrowsersWithoutThem) {
  const auto page = data("frames.html");
  const auto plan = sound_plan(page);
  EXPECT_EQ(replaced(page, plan), (Texts{"/cgi-bin/mapserv.fcgi"}));
  EXPECT_EQ(remarks(plan, Weight::unsure), (Texts{"5 text for old browsers (noframes, iframe) names the script"}));
}

TEST(FormsRewrite, LeavesPhpAloneAndChangesTheMarkupAroundIt) {
  const auto page = data("page.php");
  const auto plan = sound_plan(page);
  EXPECT_EQ(replaced(page, plan),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
  EXPECT_EQ(lines(plan, Weight::unsure), (std::vector<std::size_t>{2, 3, 11, 13, 18}));
}

TEST(FormsRewrite, LeavesAspAloneAndChangesTheMarkupAroundIt) {
  const auto page = data("page.asp");
  const auto plan = sound_plan(page);
  EXPECT_EQ(replaced(page, plan), (Texts{"/cgi-bin/mapserv.exe", "/scripts/MapServ.EXE"}));
  EXPECT_EQ(lines(plan, Weight::unsure), (std::vector<std::size_t>{2, 5}));
}

TEST(FormsRewrite, SortsTheSureFromTheUnsure) {
  const auto page = data("plain.html");
  const auto plan = sound_plan(page);
  EXPECT_EQ(replaced(page, plan),
            (Texts{"/cgi-bin/mapserv", "http://www.example.org:8080/~gis/cgi-bin/mapserv",
                   "//www.example.org/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv",
                   "mapserv.fcgi", "http://[2001:db8::7]:8080/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv",
                   "/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
  EXPECT_EQ(
      remarks(plan, Weight::unsure),
      (Texts{"5 <a href> '/cgi-bin/mapserv&#63;map=x' has character references in its path",
             "6 <a href> '/cgi-bin/mapserv;x=1?map=x' names the script, but is no plain URL of it",
             "7 <a href> 'http://user:pw@www.example.org/cgi-bin/mapserv' names the script, but is no plain URL of it",
             "8 <a href> 'http:\\x5C\\x5Cwww.example.org\\x5Ccgi-bin\\x5Cmapserv' names the script, but is no plain "
             "URL of it",
             "9 <a href> 'javascript:open('/cgi-bin/mapserv?x')' is no web address",
             "11 <a href> '/go?to=/cgi-bin/mapserv' names the script, but is no plain URL of it",
             "14 <select onchange> 'location='/cgi-bin/mapserv?' + this.value' names the script",
             "14 <option value> '/cgi-bin/mapserv?o' names the script",
             "16 <img src> '{{ base }}/cgi-bin/mapserv' names the script, but is no plain URL of it",
             "17 <meta content> '5; url=/cgi-bin/mapserv?x' names the script",
             "18 <a xlink:href> '/cgi-bin/mapserv?svg' names the script",
             "19 <div style> 'background: url(/cgi-bin/mapserv?bg)' names the script",
             "20 a server-side include names the script",
             "24 a tag that browsers drop where it stands names the script",
             "25 a tag that browsers drop where it stands names the script"}));
  EXPECT_EQ(lines(plan, Weight::note), (std::vector<std::size_t>{1, 12, 13, 21}));
}

TEST(FormsRewrite, ChangesNothingThatPointsToTheBalancer) {
  EXPECT_TRUE(replaced("<form action=\"https://maps.example.org/cgi-bin/mapserv\"></form>"
                       "<a href=https://maps.example.org/cgi-bin/mapserv/world/ogcapi?x>")
                  .empty());
}

TEST(FormsRewrite, KeepsPathInformationQueryAndFragment) {
  const std::string page = "<a href=\"http://a.example.org/cgi-bin/mapserv/world/ogcapi?f=html&amp;x=%7e#f?g\">";
  EXPECT_EQ(rewritten(page, sound_plan(page).edits, kTo),
            "<a href=\"https://maps.example.org/cgi-bin/mapserv/world/ogcapi?f=html&amp;x=%7e#f?g\">");
}

TEST(FormsRewrite, TakesOtherScriptsByPattern) {
  auto by = rules();
  by.scripts.push_back("/cgi-bin/mapserv[0-9]*");
  by.scripts.push_back("wms.cgi");
  const std::string page =
      "<a href=/cgi-bin/mapserv56/x><a href=../cgi-bin/mapserv7.fcgi?x><a href=/maps/wms.cgi?x><a href=/wms.cgi/x>";
  EXPECT_EQ(replaced(page, sound_plan(page, "p.html", by)),
            (Texts{"/cgi-bin/mapserv56", "../cgi-bin/mapserv7.fcgi", "/maps/wms.cgi"}));
}

TEST(FormsRewrite, KeepsAnotherHostsUrlsWhereHostsAreNamed) {
  auto by = rules();
  by.hosts = {"pinchot.example.org"};
  const std::string page =
      "<a href=http://PINCHOT.example.org:8080/cgi-bin/mapserv><a href=http://other.example.net/cgi-bin/mapserv>"
      "<a href=http://maps.example.org/cgi-bin/mapserv><a href=/cgi-bin/mapserv>";
  const auto plan = sound_plan(page, "p.html", by);
  EXPECT_EQ(replaced(page, plan), (Texts{"http://PINCHOT.example.org:8080/cgi-bin/mapserv",
                                         "http://maps.example.org/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
  EXPECT_EQ(remarks(plan, Weight::note).size(), 1U);
}

TEST(FormsRewrite, FollowsTheBaseToItsHost) {
  auto by = rules();
  by.hosts = {"pinchot.example.org"};
  EXPECT_TRUE(
      sound_plan("<base href=http://other.example.net/x/><a href=/cgi-bin/mapserv>", "p.html", by).edits.empty());
  const auto plan = sound_plan("<base href='/cgi-bin/mapserv'><a href='?x'>");
  EXPECT_TRUE(plan.edits.empty());
  EXPECT_EQ(remarks(plan, Weight::unsure),
            (Texts{"1 <base href> '/cgi-bin/mapserv': every relative URL of the page hangs on it"}));
}

TEST(FormsRewrite, NamesJavaScriptFiles) {
  const auto plan = sound_plan("var a = 1;\nvar u = \"/cgi-bin/mapserv?x\";\ndocument.mapserv.submit();\n", "x.JS");
  EXPECT_EQ(remarks(plan, Weight::unsure), (Texts{"2 JavaScript names the script"}));
}

TEST(FormsRewrite, WalksPagesAndNoCopiesOrSourceMaps) {
  EXPECT_TRUE(is_page_name("a/b.HTML"));
  EXPECT_TRUE(is_page_name("world.map"));
  EXPECT_FALSE(is_page_name("a.html.orig"));
  EXPECT_FALSE(is_page_name("a.js.map"));
  EXPECT_FALSE(is_page_name(".html"));
}

TEST(FormsMapfile, ShowsWhatLeadsPastTheBalancer) {
  const auto plan = sound_plan(data("world.map"), "world.map");
  EXPECT_EQ(remarks(plan, Weight::note),
            (Texts{"5 imageurl '/tmp/': a picture is fetched from the host that served the page; where pages are "
                   "relayed, map this path to balance too",
                   "8 wms_onlineresource 'http://pinchot.example.org/cgi-bin/mapserv?map=WORLD&': clients go on to "
                   "that URL, wanted https://maps.example.org/cgi-bin/mapserv",
                   "16 template 'http://www.example.org/found.html?id=[id]': mapserv sends clients there",
                   "17 wfs_onlineresource '/cgi-bin/mapserv': clients go on to that URL, wanted "
                   "https://maps.example.org/cgi-bin/mapserv",
                   "19 imageurl 'http://pics.example.org/tmp/': every client fetches its pictures from there, "
                   "whichever host drew them"}));
}

TEST(FormsMapfile, EndsWithEveryTruncation) {
  const auto text = data("world.map");
  for (std::size_t length = 0; length <= text.size(); ++length) {
    EXPECT_TRUE(plan("world.map", text.substr(0, length), rules()).edits.empty());
  }
}

}  // namespace
}  // namespace balance::forms
