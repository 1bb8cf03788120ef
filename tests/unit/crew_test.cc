// SPDX-License-Identifier: MIT
#include "balance/front/crew.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "balance/front/listen.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/file.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

using base::Fd;
using base::Seconds;

constexpr Seconds kLong{20};  // never reached unless something is broken

// Echoes each byte of a connection, one request a byte, keeping the connection as a web server would.
void echo(Fd connection, Crew::Seat& seat) {
  char byte = 0;
  while (seat.await_request(connection.get(), std::span(&byte, 1)) == 1) {
    if (read(connection.get(), &byte, 1) != 1 || write(connection.get(), &byte, 1) != 1) return;
    seat.answered();
  }
}

class Crewed : public testing::Test {
 protected:
  void SetUp() override {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, nullptr);
    base::Result<Listener> listener = listen_on("unix:" + (folder_ / "socket"));
    ASSERT_TRUE(listener) << listener.error().what;
    listener_ = std::move(listener->socket);
  }
  Fd connected() {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    void* const raw = &address;
    auto* const any = static_cast<sockaddr*>(raw);
    EXPECT_EQ(getsockname(listener_.get(), any, &bytes), 0);
    Fd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(client.get(), any, bytes), 0);
    const timeval limit{static_cast<time_t>(kLong.count()), 0};
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return client;
  }
  // 'x' for a served request, '.' for a closed connection, '?' for neither within a long time.
  static char served(const Fd& client) {
    char byte = 'x';
    if (send(client.get(), &byte, 1, MSG_NOSIGNAL) != 1) return '.';
    const ssize_t got = read(client.get(), &byte, 1);
    return got == 1 ? byte : got == 0 || errno == ECONNRESET ? '.' : '?';
  }

  ScratchDir folder_;
  Fd listener_;
};

TEST_F(Crewed, ServesEveryOneOfManyKeptConnections) {
  Crew crew(listener_.get(), Crew::Limits{64, 4}, echo);
  ASSERT_TRUE(crew.start());
  std::vector<Fd> clients;
  std::string answers;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(connected());
    answers += served(clients.back());
  }
  for (const Fd& client : clients) answers += served(client);
  EXPECT_EQ(answers, std::string(80, 'x'));
  EXPECT_TRUE(crew.finish(kLong));
}

TEST_F(Crewed, AtItsLimitKeepsFewerConnectionsThanItHasThreads) {
  Crew crew(listener_.get(), Crew::Limits{3, 1}, echo);
  ASSERT_TRUE(crew.start());
  std::vector<Fd> clients;
  std::string first, second, third;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(connected());
    first += served(clients.back());
  }
  for (const Fd& client : clients) second += served(client);  // one that is asked to yield may still be served here
  for (const Fd& client : clients) third += served(client);
  EXPECT_EQ(first, std::string(10, 'x'));
  EXPECT_GE(std::count(third.begin(), third.end(), '.'), 8) << second << " " << third;
  EXPECT_TRUE(crew.finish(kLong));
}

TEST_F(Crewed, ANewConnectionIsNotClosedForOthersBeforeItsRequest) {
  Crew crew(listener_.get(), Crew::Limits{2, 1}, echo);
  ASSERT_TRUE(crew.start());
  const Fd early = connected();
  const Fd other = connected();
  EXPECT_EQ(served(other), 'x');
  const Fd late = connected();
  EXPECT_EQ(served(late), 'x');
  EXPECT_EQ(served(early), 'x');
  EXPECT_TRUE(crew.finish(kLong));
}

TEST_F(Crewed, ANewConnectionThatSendsNothingIsClosedInTime) {
  Crew crew(listener_.get(), Crew::Limits{2, 1, Seconds{0.01}}, echo);
  ASSERT_TRUE(crew.start());
  const Fd silent = connected();
  char byte = 0;
  EXPECT_EQ(read(silent.get(), &byte, 1), 0);
  EXPECT_TRUE(crew.finish(kLong));
}

TEST_F(Crewed, ManyMoreClientsThanThreadsAreAllServed) {
  Crew crew(listener_.get(), Crew::Limits{3, 2}, echo);
  ASSERT_TRUE(crew.start());
  std::vector<Fd> clients;
  std::string answers;
  for (int i = 0; i < 30; ++i) clients.push_back(connected());
  for (const Fd& client : clients) answers += served(client);
  EXPECT_EQ(answers, std::string(30, 'x'));
  EXPECT_TRUE(crew.finish(kLong));
}

TEST_F(Crewed, NewConnectionsThatSendNothingDoNotKeepOthersOut) {
  Crew crew(listener_.get(), Crew::Limits{3, 1}, echo);
  ASSERT_TRUE(crew.start());
  std::vector<Fd> silent;
  for (int i = 0; i < 6; ++i) silent.push_back(connected());
  EXPECT_EQ(served(connected()), 'x');
  EXPECT_TRUE(crew.finish(kLong));
}

// Answers 'x' to a request of a hundred bytes, '-' to one that is given up.
void serve_hundred(Fd connection, Crew::Seat& seat) {
  std::array<char, 100> bytes{};
  if (seat.await_request(connection.get(), bytes) <= 0) return;
  Arrival arrival{base::now(), base::now()};
  char answer = 'x';
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t more = seat.receive(connection.get(), std::span(bytes).subspan(got), arrival);
    if (more <= 0) {
      answer = '-';
      break;
    }
    got += static_cast<std::size_t>(more);
  }
  send(connection.get(), &answer, 1, MSG_NOSIGNAL);
}

TEST_F(Crewed, RequestsThatAreNeverWholeDoNotKeepOthersOut) {
  Crew crew(listener_.get(), Crew::Limits{3, 1}, serve_hundred);
  ASSERT_TRUE(crew.start());
  std::vector<Fd> begun;
  for (int i = 0; i < 3; ++i) {
    begun.push_back(connected());
    ASSERT_EQ(send(begun.back().get(), "x", 1, MSG_NOSIGNAL), 1);
  }
  const Fd client = connected();
  const std::string request(99, 'y');
  ASSERT_EQ(send(client.get(), request.data(), request.size(), MSG_NOSIGNAL), 99);
  EXPECT_EQ(served(client), 'x');
  begun.clear();
  EXPECT_TRUE(crew.finish(kLong));
}

TEST_F(Crewed, FinishesAtOnceWhenNobodyAsks) {
  Crew crew(listener_.get(), Crew::Limits{8, 2}, echo);
  ASSERT_TRUE(crew.start());
  const Fd idle = connected();
  EXPECT_EQ(served(idle), 'x');
  const Fd silent = connected();
  EXPECT_TRUE(crew.finish(kLong));
  EXPECT_EQ(served(idle), '.');
}

TEST_F(Crewed, FinishesTheRequestThatIsUnderWay) {
  std::atomic<bool> may_go{false};
  Crew crew(listener_.get(), Crew::Limits{8, 2}, [&](Fd connection, Crew::Seat& seat) {
    char byte = 0;
    if (seat.await_request(connection.get(), std::span(&byte, 1)) != 1 || read(connection.get(), &byte, 1) != 1) return;
    byte = 'b';
    EXPECT_EQ(write(connection.get(), &byte, 1), 1);
    may_go.wait(false);
    EXPECT_EQ(write(connection.get(), &byte, 1), 1);
  });
  ASSERT_TRUE(crew.start());
  const Fd client = connected();
  EXPECT_EQ(served(client), 'b');
  EXPECT_FALSE(crew.finish(Seconds{0.01}));
  may_go = true;
  may_go.notify_all();
  EXPECT_TRUE(crew.finish(kLong));
  char byte = 0;
  EXPECT_EQ(read(client.get(), &byte, 1), 1);
}

TEST_F(Crewed, TellsOfABrokenListeningSocket) {
  Fd broken(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));  // never listens: accept says EINVAL
  Crew crew(broken.get(), Crew::Limits{8, 2}, echo);
  ASSERT_TRUE(crew.start());
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  int signal = 0;
  EXPECT_EQ(sigwait(&term, &signal), 0);
  EXPECT_EQ(crew.failure(), "cannot accept: Invalid argument");
  EXPECT_TRUE(crew.finish(kLong));
}

TEST(Listen, ReplacesASocketThatNobodyListensOn) {
  const ScratchDir folder;
  const std::string where = "unix:" + (folder / "socket");
  { ASSERT_TRUE(listen_on(where)); }
  EXPECT_TRUE(listen_on(where));
}

TEST(Listen, LeavesALivingSocketAlone) {
  const ScratchDir folder;
  const std::string where = "unix:" + (folder / "socket");
  const base::Result<Listener> first = listen_on(where);
  ASSERT_TRUE(first);
  const base::Result<Listener> second = listen_on(where);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().what, "somebody listens on " + (folder / "socket") + " already");
}

TEST(Listen, LeavesAFileThatIsNoSocketAlone) {
  const ScratchDir folder;
  ASSERT_TRUE(base::write_file(folder / "socket", "precious"));
  const base::Result<Listener> listener = listen_on("unix:" + (folder / "socket"));
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().what, (folder / "socket") + " is there and is no socket; it is left alone");
}

TEST(Listen, RefusesAPathThatIsTooLong) {
  const base::Result<Listener> listener = listen_on("unix:/" + std::string(107, 'x'));
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().fault, base::Fault::usage);
  EXPECT_NE(listener.error().what.find("has 108 bytes; wanted 1 to 107"), std::string::npos);
}

TEST(Listen, RefusesANameWhereAnAddressIsWanted) {
  EXPECT_FALSE(listen_on("localhost:9000"));
  EXPECT_FALSE(listen_on("9000"));
  EXPECT_FALSE(listen_on(""));
}

TEST(Listen, APathWithoutUnixInFrontIsToldWhatIsMissing) {
  const base::Result<Listener> listener = listen_on("/run/balance/front.sock");
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().what,
            "--listen: '/run/balance/front.sock' is no place to listen at; wanted unix:PATH or a numeric address and a "
            "port, as in 'unix:/run/balance/front.sock' or '127.0.0.1:9000'");
}

TEST(Listen, TellsLoopbackFromWhatOthersReach) {
  const base::Result<Listener> loopback4 = listen_on("127.0.0.1:0");
  const base::Result<Listener> everywhere = listen_on("0.0.0.0:0");
  ASSERT_TRUE(loopback4) << loopback4.error().what;
  ASSERT_TRUE(everywhere);
  EXPECT_FALSE(loopback4->is_reachable_by_others);
  EXPECT_TRUE(everywhere->is_reachable_by_others);
}

}  // namespace
}  // namespace balance
