// SPDX-License-Identifier: MIT
// When another host is asked, and when not.
#include "tests/unit/relay_hosts.h"

namespace balance::testing {
namespace {

TEST_F(Relay, ARefusedConnectionGoesToTheNextHostAndThen) {
  const DeadPort dead, grave;
  const Host host(picture());
  configure(host_line("a", dead.port()) + host_line("b", grave.port()) + host.line("muir"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(host.requests(), 1);
}

TEST_F(Relay, ARefusedConnectionIsTriedElsewhereEvenForATransaction) {
  const DeadPort dead;
  const Host host(document("<ok/>"));
  configure(host_line("a", dead.port()) + host.line("muir"));
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", "<wfs:Transaction/>", "text/xml"), "Status: 200 "));
  EXPECT_EQ(host.requests(), 1);
}

TEST_F(Relay, AConnectionResetIsTriedOnceMoreElsewhere) {
  const Host bad([](Connection& to) { to.reset(); });
  const Host good(picture());
  configure(bad.line("a") + good.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(bad.requests(), 1);
  EXPECT_EQ(good.requests(), 1);
}

TEST_F(Relay, ATransactionIsNeverSentTwice) {
  const Host bad([](Connection& to) { to.reset(); });
  const Host good(document("<ok/>"));
  configure(bad.line("a") + good.line("b"));
  EXPECT_TRUE(begins(ask("map=WORLD", "POST", "<wfs:Transaction/>", "text/xml"), "Status: 502 "));
  EXPECT_EQ(bad.requests(), 1);
  EXPECT_EQ(good.requests(), 0);
}

TEST_F(Relay, OfThreeHostsThatResetTwoAreTried) {
  const Host a([](Connection&to) { to.reset(); }), b([](Connection&to) { to.reset(); });
  const Host c(picture());
  configure(a.line("a") + b.line("b") + c.line("c"));
  EXPECT_TRUE(begins(ask(kGetMap), "Status: 502 "));
  EXPECT_EQ(a.requests() + b.requests(), 2);
  EXPECT_EQ(c.requests(), 0);
}

TEST_F(Relay, ASilentHostIsLeftAfterTheResponseTimeout) {
  const Host silent([](Connection& to) { to.peer_leaves(); });
  const Host good(picture());
  configure(silent.line("a") + good.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(silent.requests(), 1);
}

TEST_F(Relay, TwoSilentHostsAre504) {
  const Host a([](Connection&to) { to.peer_leaves(); }), b([](Connection&to) { to.peer_leaves(); });
  configure(a.line("a") + b.line("b"));
  EXPECT_TRUE(begins(ask(kGetMap), "Status: 504 "));
}

TEST_F(Relay, APageInsteadOfAMapIsLookedForElsewhereOnce) {
  const Host a(page(kMessage)), b(picture()), c(picture());
  configure(a.line("a") + b.line("b") + c.line("c"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(c.requests(), 0);
}

TEST_F(Relay, APageThatTwoHostsGiveIsTheAnswer) {
  const Host a(page(kMessage)), b(page(kMessage)), c(picture());
  configure(a.line("a") + b.line("b") + c.line("c"));
  EXPECT_EQ(body_of(ask(kGetMap)), kMessage);
  EXPECT_NE(exchange_->answer.find("X-Balance-Host: b\r\n"), std::string::npos);
  EXPECT_EQ(c.requests(), 0);
}

TEST_F(Relay, APageIsBetterThanNoAnswerAtAll) {
  const DeadPort dead;
  const Host a(page(kMessage));
  configure(a.line("a") + host_line("b", dead.port()));
  const std::string answer = ask(kGetMap);
  EXPECT_EQ(body_of(answer), kMessage);
  EXPECT_NE(answer.find("X-Balance-Host: a\r\n"), std::string::npos);
}

TEST_F(Relay, AnExceptionThatIsTheClientsFaultIsTheAnswer) {
  const std::string exception =
      "<?xml version='1.0'?><ServiceExceptionReport><ServiceException code=\"LayerNotDefined\">x</ServiceException>"
      "</ServiceExceptionReport>";
  const Host a(answer_of("200 OK", exception, "Connection: close\r\nContent-Type: application/vnd.ogc.se_xml\r\n"));
  const Host b(picture());
  configure(a.line("a") + b.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), exception);
  EXPECT_EQ(b.requests(), 0);
}

TEST_F(Relay, A502OfAHostIsLookedForElsewhere) {
  const Host a(answer_of("502 Bad Gateway", "bad", "Connection: close\r\n")), b(picture());
  configure(a.line("a") + b.line("b"));
  EXPECT_EQ(body_of(ask(kGetMap)), kPng);
}

TEST_F(Relay, ARequestThatFailsTwoHostsIsNotTriedOnTheOthersForAWhile) {
  const Host a([](Connection&to) { to.reset(); }), b([](Connection&to) { to.reset(); });
  const Host c(picture());
  configure(a.line("a") + b.line("b") + c.line("c"));
  make_table();
  ask(kGetMap);
  ask(kGetMap);
  ask(kGetMap);
  EXPECT_EQ(a.requests(), 3);
  EXPECT_EQ(b.requests(), 1);
  EXPECT_EQ(c.requests(), 0);
}

TEST_F(Relay, AnotherRequestIsNoKiller) {
  const Host a([](Connection&to) { to.reset(); }), b([](Connection&to) { to.reset(); });
  configure(a.line("a") + b.line("b"));
  make_table();
  ask(kGetMap);
  ask("map=WORLD&mode=map");
  EXPECT_EQ(a.requests(), 2);
  EXPECT_EQ(b.requests(), 2);
}

}  // namespace
}  // namespace balance::testing
