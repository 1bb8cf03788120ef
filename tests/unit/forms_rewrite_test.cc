// SPDX-License-Identifier: MIT
// Pages as administrators have them: what is rewritten is exactly a URL's beginning, and every other byte stays.
#include <gtest/gtest.h>

#include "balance/forms/masking.h"
#include "balance/forms/plan_text.h"
#include "balance/forms/rewrite.h"
#include "tests/unit/files.h"

namespace balance::forms {
namespace {

using Texts = std::vector<std::string>;

constexpr char kTo[] = "https://maps.example.org/cgi-bin/mapserv";

Rules rules() { return Rules{kTo, default_scripts(), {}}; }

std::string data(const std::string& name) { return text_of("tests/data/forms/" + name); }

Texts replaced(const std::string& page, const Plan& plan) {
  Texts texts;
  for (const auto edit : plan.edits) texts.push_back(page.substr(edit.begin, edit.size()));
  return texts;
}

Texts remarks(const Plan& plan, Weight weight) {
  Texts texts;
  for (const auto& remark : plan.remarks) {
    if (remark.weight == weight) texts.push_back(std::to_string(remark.line) + " " + remark.text);
  }
  return texts;
}

std::vector<std::size_t> lines(const Plan& plan, Weight weight) {
  std::vector<std::size_t> found;
  for (const auto& remark : plan.remarks) {
    if (remark.weight == weight) found.push_back(remark.line);
  }
  return found;
}

// Cuts page and result apart at the edits: what stands between must be equal, what stands in them must be the URL. Then
// a second run must find nothing.
Plan sound_plan(const std::string& page, const std::string& path = "page.html", const Rules& by = rules()) {
  const auto first = plan(path, page, by);
  const auto result = rewritten(page, first.edits, by.to);
  std::size_t in_page = 0;
  std::size_t in_result = 0;
  for (const auto edit : first.edits) {
    const auto between = edit.begin - in_page;
    EXPECT_EQ(page.substr(in_page, between), result.substr(in_result, between));
    in_result += between;
    EXPECT_EQ(result.substr(in_result, by.to.size()), by.to);
    in_result += by.to.size();
    in_page = edit.end;
  }
  EXPECT_EQ(page.substr(in_page), result.substr(in_result));
  const auto second = plan(path, result, by);
  EXPECT_TRUE(second.edits.empty());
  EXPECT_EQ(remarks(second, Weight::unsure).size(), remarks(first, Weight::unsure).size());
  return first;
}

Texts replaced(const std::string& page) { return replaced(page, sound_plan(page)); }

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

// 1 to 20: the nasty ones.
TEST(FormsRewrite, KeepsCarriageReturns) {
  EXPECT_EQ(replaced("<p>\r\n<form\r\n action=\r\n\"/cgi-bin/mapserv\"\r\n>\r\r\n\n"), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, KeepsCp1252) {
  EXPECT_EQ(replaced("<p>\xC9tat \x80\x93<a title=\xE9 href=\"/cgi-bin/mapserv?n=\xE9t\xE9\">\xFC</a \xE9>\xFF\xC3"),
            (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, KeepsShiftJisWhoseSecondBytesLookLikeAscii) {
  EXPECT_EQ(replaced("<p>\x83\x5B\x94\x5C\x83\x5D<a title=\"\x8A\x5B\" href=/cgi-bin/mapserv?x=\x83\x5C>\x95\x5C"),
            (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, KeepsAByteOrderMark) {
  const std::string page = "\xEF\xBB\xBF<html><frameset><frame src=/cgi-bin/mapserv></frameset></html>";
  EXPECT_EQ(replaced(page), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, LeavesUtf16AloneWithAndWithoutAMark) {
  std::string wide;
  for (const char c : std::string("<a href=/cgi-bin/mapserv>")) wide.append({c, '\0'});
  const auto unmarked = sound_plan(wide);
  EXPECT_TRUE(unmarked.edits.empty());
  EXPECT_EQ(remarks(unmarked, Weight::unsure), (Texts{"0 it holds NUL bytes (UTF-16 without a mark, or no text)"}));
  const auto marked = sound_plan("\xFF\xFE" + wide);
  EXPECT_TRUE(marked.edits.empty());
  EXPECT_EQ(remarks(marked, Weight::unsure), (Texts{"0 it is UTF-16 or UTF-32"}));
}

TEST(FormsRewrite, PassesOverWhatIsNoTextAndNamesNothing) {
  EXPECT_TRUE(sound_plan(std::string("\x89PNG\0\0\0", 7)).remarks.empty());
}

TEST(FormsRewrite, LeavesAFileWithANulByteAlone) {
  const auto plan = sound_plan(std::string("<a href=/cgi-bin/mapserv>\0", 26));
  EXPECT_TRUE(plan.edits.empty());
  EXPECT_EQ(remarks(plan, Weight::unsure).size(), 1U);
}

TEST(FormsRewrite, LeavesIso2022AndUtf7Alone) {
  EXPECT_EQ(sound_plan("\x1B$B<a href=/cgi-bin/mapserv>\x1B(B").edits.size(), 0U);
  EXPECT_EQ(sound_plan("<meta charset=utf-7><a href=/cgi-bin/mapserv>").edits.size(), 0U);
}

TEST(FormsRewrite, NeedsNoEndTags) {
  EXPECT_EQ(replaced("<table><tr><td><form action=/cgi-bin/mapserv><td><font><a href=/cgi-bin/mapserv><p>x<p>y"),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, TakesTheFirstOfTwoActions) {
  const std::string page = "<form action='/cgi-bin/mapserv?1' ACTION='/cgi-bin/mapserv?2'>";
  const auto plan = sound_plan(page);
  ASSERT_EQ(plan.edits.size(), 1U);
  EXPECT_EQ(plan.edits[0].begin, page.find("/cgi-bin/mapserv?1"));
}

TEST(FormsRewrite, KnowsNoTagsInsideOfScriptsCommentsAndStyles) {
  const auto plan = sound_plan(
      "<script>'<a href=\"/cgi-bin/mapserv\">'</script><!-- <a href=\"/cgi-bin/mapserv\"> -->"
      "<style>/* <a href=\"/cgi-bin/mapserv\"> */</style>");
  EXPECT_TRUE(plan.edits.empty());
  EXPECT_EQ(remarks(plan, Weight::unsure),
            (Texts{"1 JavaScript names the script", "1 a style sheet names the script"}));
}

TEST(FormsRewrite, KnowsThatAnOpenScriptGoesToTheEnd) {
  const auto plan = sound_plan("<a href=/cgi-bin/mapserv></a>\n<script>\n<a href=\"/cgi-bin/mapserv\">");
  EXPECT_EQ(plan.edits.size(), 1U);
  EXPECT_EQ(remarks(plan, Weight::unsure), (Texts{"3 JavaScript names the script"}));
}

TEST(FormsRewrite, KnowsThatAnOpenCommentGoesToTheEnd) {
  const auto plan = sound_plan("<a href=/cgi-bin/mapserv></a>\n<!--\n<a href=\"/cgi-bin/mapserv\">");
  EXPECT_EQ(plan.edits.size(), 1U);
  EXPECT_EQ(remarks(plan, Weight::note), (Texts{"3 a comment names the script"}));
}

TEST(FormsRewrite, ReadsEveryWayToWriteAnAttribute) {
  EXPECT_EQ(
      replaced("<A\tHREF\n=\n'/cgi-bin/mapserv'><iMg/sRc=/cgi-bin/mapserv/><img src=\"/cgi-bin/mapserv\"alt=x>"
               "<area href=/cgi-bin/mapserv ><area title=\">\" href=/cgi-bin/mapserv?a=b&c=\"d>"),
      (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, KeepsTheSlashThatEndsATagWithAnUnquotedValue) {
  const std::string page = "<img src=/cgi-bin/mapserv/>";
  EXPECT_EQ(rewritten(page, sound_plan(page).edits, kTo), "<img src=https://maps.example.org/cgi-bin/mapserv/>");
}

TEST(FormsRewrite, KeepsQuotesInsideOfTheOtherQuotes) {
  EXPECT_EQ(replaced("<a href='/cgi-bin/mapserv?f=(\"A\"=\"b\")'><a href=\"/cgi-bin/mapserv?f='x'\">"),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, NamesTheRestOfAPageBehindAnOpenQuote) {
  const auto plan = sound_plan("<a href=/cgi-bin/mapserv>\n<a title=\"open href=/cgi-bin/mapserv>\n<p>");
  EXPECT_EQ(plan.edits.size(), 1U);
  EXPECT_EQ(lines(plan, Weight::unsure), (std::vector<std::size_t>{2}));
}

TEST(FormsRewrite, TouchesAnUnclosedFormattingElementOnce) {
  EXPECT_EQ(replaced("<a href=/cgi-bin/mapserv?x><p>1<p>2<div>3<table><tr><td>4"), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, ReadsElementsThatTheParserMoves) {
  EXPECT_EQ(replaced("<table><a href=/cgi-bin/mapserv>x</a><img src=/cgi-bin/mapserv></table><b><i></b>"
                     "<a href=/cgi-bin/mapserv></i>"),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, ReadsIsindexAndImage) {
  EXPECT_EQ(replaced("<image src=/cgi-bin/mapserv?1>"), (Texts{"/cgi-bin/mapserv"}));
  // isindex turns into a form of the parser's own, so it may be named instead; never wrongly edited.
  const auto plan = sound_plan("<isindex action=/cgi-bin/mapserv prompt=x>");
  EXPECT_EQ(plan.edits.size() + remarks(plan, Weight::unsure).size(), 1U);
}

TEST(FormsRewrite, ReadsAPageWhoseUnquotedValueBeginsWithAReference) {
  EXPECT_EQ(replaced("<input value=&nbsp;><option value=&lt;a><a href=/cgi-bin/mapserv?a=1&amp;b>"),
            (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, DoesNotTakeAnAddressForAMapServerTag) {
  EXPECT_EQ(replaced("<a href=http://[fd00::7]/cgi-bin/mapserv>"), (Texts{"http://[fd00::7]/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, ReadsTagsBesideUnterminatedMapServerTags) {
  EXPECT_EQ(
      replaced(
          "<!-- MapServer Template -->[if name=\"a\n<a href=/cgi-bin/mapserv>[see <a href=/cgi-bin/mapserv>x</a>]"),
      (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, SeesTheMarkupBehindAnUnquotedServerValue) {
  EXPECT_EQ(replaced("<img width=<?= 1 ?> src=/cgi-bin/mapserv><img width=[w] src=/cgi-bin/mapserv>"),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, DoesNotTakeAnXmlDeclarationForPhp) {
  EXPECT_EQ(replaced("<?xml version=\"1.0\"?><html><frameset><frame src=\"/cgi-bin/mapserv\" /></frameset></html>"),
            (Texts{"/cgi-bin/mapserv"}));
  EXPECT_EQ(replaced("<?import namespace=v><a href=/cgi-bin/mapserv>"), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, ReadsFiveMegabytes) {
  std::string page = "<table>\n";
  const std::string text(400, '-');
  std::size_t rows = 0;
  while (page.size() < (5U << 20)) {
    page += "<tr><td><a href=\"/cgi-bin/mapserv?map=x&amp;id=1\">a row of the table \xE9" + text + "</a></td></tr>\r\n";
    ++rows;
  }
  EXPECT_EQ(replaced(page).size(), rows);
}

TEST(FormsRewrite, ReadsOneLineOfAMegabyte) {
  const std::string page = std::string(1 << 20, 'x') + "<a href=/cgi-bin/mapserv>" + std::string(1 << 20, ' ');
  EXPECT_EQ(replaced(page), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, ReadsNestingDeeperThanAStackWouldHold) {
  std::string page;
  for (int i = 0; i < 20000; ++i) page += "<span>";
  EXPECT_EQ(replaced(page + "<a href=/cgi-bin/mapserv>"), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsRewrite, StaysSoundAtEveryTruncation) {
  for (const auto* name : {"browse.html", "page.php", "plain.html"}) {
    const auto page = data(name);
    for (std::size_t length = 0; length < page.size(); length += 7) {
      const auto part = page.substr(0, length);
      for (const auto& text : replaced(part, plan("page.html", part, rules()))) {
        EXPECT_TRUE(text.ends_with("mapserv") || text.find("apserv.") != std::string::npos ||
                    text.ends_with("MapServ.EXE"))
            << name << ' ' << length << ' ' << text;
      }
    }
  }
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

TEST(FormsMask, KeepsLengthAndPrintsAscii) {
  const std::string page = "\xEF\xBB\xBF<a\t[b]\r\n\xE9 <? x ?>>[if name=\"]\"]<%x%>";
  const auto masked = mask(page);
  EXPECT_EQ(masked.text,
            "   <a xxx \nx xxxxxxx>             "
            "     ");
  EXPECT_EQ(masked.programs.size(), 2U);
  EXPECT_EQ(masked.tags.size(), 2U);
}

TEST(FormsPlan, ReadsBackAsItWasWritten) {
  const Plan plan{{{3, 5}, {5, 9}}, {{0, Weight::unsure, "a b"}, {7, Weight::note, "c"}}};
  const auto text = to_text(plan);
  const auto read = parse_plan(text, 9);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), text);
  EXPECT_EQ(read->remarks, plan.remarks);
}

TEST(FormsPlan, RefusesEveryTruncationAndWhatDoesNotFitTheFile) {
  const auto text = to_text(Plan{{{3, 5}, {5, 9}}, {{7, Weight::note, "c"}}});
  for (std::size_t length = 0; length < text.size(); ++length) EXPECT_FALSE(parse_plan(text.substr(0, length), 9));
  EXPECT_FALSE(parse_plan(text, 8));
  EXPECT_FALSE(parse_plan("edit 5 3\nend\n", 9));
  EXPECT_FALSE(parse_plan("edit 3 5\nedit 4 6\nend\n", 9));
  EXPECT_FALSE(parse_plan("note x\nend\n", 9));
  EXPECT_FALSE(parse_plan("end\nend\n", 9));
}

}  // namespace
}  // namespace balance::forms
