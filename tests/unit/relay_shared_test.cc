// SPDX-License-Identifier: MIT
// What relayed requests share: the table, kept connections, threads.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/relay_hosts.h"

namespace balance::testing {
namespace {

TEST_F(Relay, AFailedConnectionIsToldToTheTable) {
  const DeadPort dead;
  const Host good(picture());
  configure(host_line("a", dead.port()) + good.line("b"));
  make_table();
  ask(kGetMap);
  EXPECT_EQ(table_->live(0, base::now()).outcomes.end, Relayed::no_connection);
  EXPECT_EQ(table_->live(1, base::now()).outcomes.end, Relayed::fine);
  EXPECT_EQ(table_->in_flight(0) + table_->in_flight(1), 0U);
}

TEST_F(Relay, APageBindsItsClientToTheHostThatMadeIt) {
  const Host a(page("<html>")), b(page("<html>"));
  configure(a.line("a") + b.line("b"));
  make_table();
  ask("map=WORLD&mode=browse");
  EXPECT_EQ(table_->host_of_client(client_key(*base::parse_address("192.0.2.7")), base::now(), kPageKept), 0U);
}

TEST_F(Relay, AConnectionIsUsedAgain) {
  std::atomic<int> connections = 0;
  const Server server([&](Connection& to) {
    ++connections;
    while (!to.read_request().empty() && to.send(answer_of("200 OK", kPng, "Content-Type: image/png\r\n"))) {
    }
  });
  configure(host_line("a", server.port()));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(connections, 1);
}

TEST_F(Relay, AKeptConnectionThatTheHostHasClosedIsNoFailure) {
  const Host host(answer_of("200 OK", kPng, "Content-Type: image/png\r\n"));  // closes without saying so
  configure(host.line("a"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(body_of(ask(kGetMap)), kPng);
  EXPECT_EQ(host.requests(), 5);
}

TEST_F(Relay, ManyThreadsRelayAtOnce) {
  const Host host(picture());
  configure(host_line("dead", 1) + host.line("b"), "response-timeout = 10s\n");
  make_table();
  std::atomic<int> fine = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 5; ++k) {
          MemoryExchange exchange(std::vector<std::string>{}, "");
          RawRequest raw = get(kGetMap);
          relay(raw, exchange);
          if (body_of(exchange.answer) == kPng) ++fine;
        }
      });
    }
  }
  EXPECT_EQ(fine, 40);
  EXPECT_EQ(host.requests(), 40);
  EXPECT_EQ(table_->live(1, base::now()).in_flight, 0U);
}

}  // namespace
}  // namespace balance::testing
