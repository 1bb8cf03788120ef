// SPDX-License-Identifier: MIT
// Every encoding and every oddity of markup: what is read right, and what is left alone.
#include "tests/unit/forms_pages.h"

namespace balance::forms {
namespace {

TEST(FormsMarkup, KeepsCarriageReturns) {
  EXPECT_EQ(replaced("<p>\r\n<form\r\n action=\r\n\"/cgi-bin/mapserv\"\r\n>\r\r\n\n"), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, KeepsCp1252) {
  EXPECT_EQ(replaced("<p>\xC9tat \x80\x93<a title=\xE9 href=\"/cgi-bin/mapserv?n=\xE9t\xE9\">\xFC</a \xE9>\xFF\xC3"),
            (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, KeepsShiftJisWhoseSecondBytesLookLikeAscii) {
  EXPECT_EQ(replaced("<p>\x83\x5B\x94\x5C\x83\x5D<a title=\"\x8A\x5B\" href=/cgi-bin/mapserv?x=\x83\x5C>\x95\x5C"),
            (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, KeepsAByteOrderMark) {
  const std::string page = "\xEF\xBB\xBF<html><frameset><frame src=/cgi-bin/mapserv></frameset></html>";
  EXPECT_EQ(replaced(page), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, LeavesUtf16AloneWithAndWithoutAMark) {
  std::string wide;
  for (const char c : std::string("<a href=/cgi-bin/mapserv>")) wide.append({c, '\0'});
  const auto unmarked = sound_plan(wide);
  EXPECT_TRUE(unmarked.edits.empty());
  EXPECT_EQ(remarks(unmarked, Weight::unsure), (Texts{"0 it holds NUL bytes (UTF-16 without a mark, or no text)"}));
  const auto marked = sound_plan("\xFF\xFE" + wide);
  EXPECT_TRUE(marked.edits.empty());
  EXPECT_EQ(remarks(marked, Weight::unsure), (Texts{"0 it is UTF-16 or UTF-32"}));
}

TEST(FormsMarkup, PassesOverWhatIsNoTextAndNamesNothing) {
  EXPECT_TRUE(sound_plan(std::string("\x89PNG\0\0\0", 7)).remarks.empty());
}

TEST(FormsMarkup, LeavesAFileWithANulByteAlone) {
  const auto plan = sound_plan(std::string("<a href=/cgi-bin/mapserv>\0", 26));
  EXPECT_TRUE(plan.edits.empty());
  EXPECT_EQ(remarks(plan, Weight::unsure).size(), 1U);
}

TEST(FormsMarkup, LeavesIso2022AndUtf7Alone) {
  EXPECT_EQ(sound_plan("\x1B$B<a href=/cgi-bin/mapserv>\x1B(B").edits.size(), 0U);
  EXPECT_EQ(sound_plan("<meta charset=utf-7><a href=/cgi-bin/mapserv>").edits.size(), 0U);
}

TEST(FormsMarkup, NeedsNoEndTags) {
  EXPECT_EQ(replaced("<table><tr><td><form action=/cgi-bin/mapserv><td><font><a href=/cgi-bin/mapserv><p>x<p>y"),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, TakesTheFirstOfTwoActions) {
  const std::string page = "<form action='/cgi-bin/mapserv?1' ACTION='/cgi-bin/mapserv?2'>";
  const auto plan = sound_plan(page);
  ASSERT_EQ(plan.edits.size(), 1U);
  EXPECT_EQ(plan.edits[0].begin, page.find("/cgi-bin/mapserv?1"));
}

TEST(FormsMarkup, KnowsNoTagsInsideOfScriptsCommentsAndStyles) {
  const auto plan = sound_plan(
      "<script>'<a href=\"/cgi-bin/mapserv\">'</script><!-- <a href=\"/cgi-bin/mapserv\"> -->"
      "<style>/* <a href=\"/cgi-bin/mapserv\"> */</style>");
  EXPECT_TRUE(plan.edits.empty());
  EXPECT_EQ(remarks(plan, Weight::unsure),
            (Texts{"1 JavaScript names the script", "1 a style sheet names the script"}));
}

TEST(FormsMarkup, KnowsThatAnOpenScriptGoesToTheEnd) {
  const auto plan = sound_plan("<a href=/cgi-bin/mapserv></a>\n<script>\n<a href=\"/cgi-bin/mapserv\">");
  EXPECT_EQ(plan.edits.size(), 1U);
  EXPECT_EQ(remarks(plan, Weight::unsure), (Texts{"3 JavaScript names the script"}));
}

TEST(FormsMarkup, KnowsThatAnOpenCommentGoesToTheEnd) {
  const auto plan = sound_plan("<a href=/cgi-bin/mapserv></a>\n<!--\n<a href=\"/cgi-bin/mapserv\">");
  EXPECT_EQ(plan.edits.size(), 1U);
  EXPECT_EQ(remarks(plan, Weight::note), (Texts{"3 a comment names the script"}));
}

TEST(FormsMarkup, ReadsEveryWayToWriteAnAttribute) {
  EXPECT_EQ(
      replaced("<A\tHREF\n=\n'/cgi-bin/mapserv'><iMg/sRc=/cgi-bin/mapserv/><img src=\"/cgi-bin/mapserv\"alt=x>"
               "<area href=/cgi-bin/mapserv ><area title=\">\" href=/cgi-bin/mapserv?a=b&c=\"d>"),
      (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, KeepsTheSlashThatEndsATagWithAnUnquotedValue) {
  const std::string page = "<img src=/cgi-bin/mapserv/>";
  EXPECT_EQ(rewritten(page, sound_plan(page).edits, kTo), "<img src=https://maps.example.org/cgi-bin/mapserv/>");
}

TEST(FormsMarkup, KeepsQuotesInsideOfTheOtherQuotes) {
  EXPECT_EQ(replaced("<a href='/cgi-bin/mapserv?f=(\"A\"=\"b\")'><a href=\"/cgi-bin/mapserv?f='x'\">"),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, NamesTheRestOfAPageBehindAnOpenQuote) {
  const auto plan = sound_plan("<a href=/cgi-bin/mapserv>\n<a title=\"open href=/cgi-bin/mapserv>\n<p>");
  EXPECT_EQ(plan.edits.size(), 1U);
  EXPECT_EQ(lines(plan, Weight::unsure), (std::vector<std::size_t>{2}));
}

TEST(FormsMarkup, TouchesAnUnclosedFormattingElementOnce) {
  EXPECT_EQ(replaced("<a href=/cgi-bin/mapserv?x><p>1<p>2<div>3<table><tr><td>4"), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, ReadsElementsThatTheParserMoves) {
  EXPECT_EQ(replaced("<table><a href=/cgi-bin/mapserv>x</a><img src=/cgi-bin/mapserv></table><b><i></b>"
                     "<a href=/cgi-bin/mapserv></i>"),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, ReadsIsindexAndImage) {
  EXPECT_EQ(replaced("<image src=/cgi-bin/mapserv?1>"), (Texts{"/cgi-bin/mapserv"}));
  // isindex turns into a form of the parser's own, so it may be named instead; never wrongly edited.
  const auto plan = sound_plan("<isindex action=/cgi-bin/mapserv prompt=x>");
  EXPECT_EQ(plan.edits.size() + remarks(plan, Weight::unsure).size(), 1U);
}

TEST(FormsMarkup, ReadsAPageWhoseUnquotedValueBeginsWithAReference) {
  EXPECT_EQ(replaced("<input value=&nbsp;><option value=&lt;a><a href=/cgi-bin/mapserv?a=1&amp;b>"),
            (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, DoesNotTakeAnAddressForAMapServerTag) {
  EXPECT_EQ(replaced("<a href=http://[fd00::7]/cgi-bin/mapserv>"), (Texts{"http://[fd00::7]/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, ReadsTagsBesideUnterminatedMapServerTags) {
  EXPECT_EQ(
      replaced(
          "<!-- MapServer Template -->[if name=\"a\n<a href=/cgi-bin/mapserv>[see <a href=/cgi-bin/mapserv>x</a>]"),
      (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, SeesTheMarkupBehindAnUnquotedServerValue) {
  EXPECT_EQ(replaced("<img width=<?= 1 ?> src=/cgi-bin/mapserv><img width=[w] src=/cgi-bin/mapserv>"),
            (Texts{"/cgi-bin/mapserv", "/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, DoesNotTakeAnXmlDeclarationForPhp) {
  EXPECT_EQ(replaced("<?xml version=\"1.0\"?><html><frameset><frame src=\"/cgi-bin/mapserv\" /></frameset></html>"),
            (Texts{"/cgi-bin/mapserv"}));
  EXPECT_EQ(replaced("<?import namespace=v><a href=/cgi-bin/mapserv>"), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, ReadsFiveMegabytes) {
  std::string page = "<table>\n";
  const std::string text(400, '-');
  std::size_t rows = 0;
  while (page.size() < (5U << 20)) {
    page += "<tr><td><a href=\"/cgi-bin/mapserv?map=x&amp;id=1\">a row of the table \xE9" + text + "</a></td></tr>\r\n";
    ++rows;
  }
  EXPECT_EQ(replaced(page).size(), rows);
}

TEST(FormsMarkup, ReadsOneLineOfAMegabyte) {
  const std::string page = std::string(1 << 20, 'x') + "<a href=/cgi-bin/mapserv>" + std::string(1 << 20, ' ');
  EXPECT_EQ(replaced(page), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, ReadsNestingDeeperThanAStackWouldHold) {
  std::string page;
  for (int i = 0; i < 20000; ++i) page += "<span>";
  EXPECT_EQ(replaced(page + "<a href=/cgi-bin/mapserv>"), (Texts{"/cgi-bin/mapserv"}));
}

TEST(FormsMarkup, StaysSoundAtEveryTruncation) {
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

}  // namespace
}  // namespace balance::forms
