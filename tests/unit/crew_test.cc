// SPDX-License-Identifier: MIT
#include "balance/front/crew.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
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

using Then = Crew::Then;

// Echoes a byte, which is a request, and keeps the connection as a web server would. Of 'w' it waits first.
Then echo(int connection, Crew::Seat& seat) {
  char byte = 0;
  const ssize_t got = recv(connection, &byte, 1, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return Then::nothing;
  if (byte == 'w') seat.about_to_wait();
  return got == 1 && write(connection, &byte, 1) == 1 ? Then::next : Then::close;
}

bool admit_all(int) { return true; }

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
  std::unique_ptr<Crew> crew(Crew::Limits limits, const Crew::Serve& serve = echo,
                             Crew::Admit admit = admit_all) const {
    base::Result<Connections> connections = Connections::at(listener_.get());
    EXPECT_TRUE(connections) << connections.error().what;
    auto made = std::make_unique<Crew>(*std::move(connections), listener_.get(), limits, std::move(admit), serve);
    EXPECT_TRUE(made->start());
    return made;
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
  const auto crew = this->crew({64, 4});
  std::vector<Fd> clients;
  std::string answers;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(connected());
    answers += served(clients.back());
  }
  for (const Fd& client : clients) answers += served(client);
  EXPECT_EQ(answers, std::string(80, 'x'));
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, AtItsLimitTheLongestIdleMakeRoomForOthers) {
  const auto crew = this->crew({3, 1});
  std::vector<Fd> clients;
  std::string first, second;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(connected());
    first += served(clients.back());
  }
  for (const Fd& client : clients) second += served(client);
  EXPECT_EQ(first, std::string(10, 'x'));
  EXPECT_EQ(second, ".......xxx");
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, AConnectionThatIsNotAdmittedIsClosed) {
  const auto crew = this->crew({8, 2}, echo, [](int) { return false; });
  char byte = 0;
  EXPECT_EQ(read(connected().get(), &byte, 1), 0);
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, RequestsThatWaitKeepNobodyOut) {
  std::atomic<bool> may_go{false};
  const auto crew = this->crew({64, 2}, [&](int connection, Crew::Seat& seat) {
    const Then then = echo(connection, seat);
    char byte = 0;
    if (then == Then::next && recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1) {
      seat.about_to_wait();
      may_go.wait(false);
    }
    return then;
  });
  std::vector<Fd> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(connected());
    EXPECT_EQ(send(waiting.back().get(), "xy", 2, MSG_NOSIGNAL), 2);
    char byte = 0;
    EXPECT_EQ(read(waiting.back().get(), &byte, 1), 1);
  }
  std::string answers;
  for (int i = 0; i < 20; ++i) answers += served(connected());
  EXPECT_EQ(answers, std::string(20, 'x'));
  may_go = true;
  may_go.notify_all();
  for (const Fd& client : waiting) {
    char byte = 0;
    EXPECT_EQ(read(client.get(), &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
  }
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, WhereAllMayLeadAllAreServedTheSame) {
  Crew::Limits limits{64, 4};
  limits.leaders = 4;
  const auto crew = this->crew(limits);
  std::vector<Fd> clients;
  std::string answers;
  clients.reserve(30);
  for (int i = 0; i < 30; ++i) clients.push_back(connected());
  for (int round = 0; round < 3; ++round) {
    for (const Fd& client : clients) EXPECT_EQ(send(client.get(), "w", 1, MSG_NOSIGNAL), 1);
    for (const Fd& client : clients) {
      char byte = '?';
      EXPECT_EQ(read(client.get(), &byte, 1), 1);
      answers += byte;
    }
  }
  EXPECT_EQ(answers, std::string(90, 'w'));
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, AConnectionThatLingersIsClosedOnceTheOtherSideHas) {
  std::atomic<int> open{-1};
  const auto crew = this->crew({8, 2}, [&](int connection, Crew::Seat&) {
    char byte = 0;
    if (recv(connection, &byte, 1, MSG_DONTWAIT) != 1) return Then::nothing;
    open = connection;
    return Then::linger;
  });
  Fd client = connected();
  EXPECT_EQ(served(client), '.');  // its end, and the bytes that still come are taken
  EXPECT_EQ(send(client.get(), "more", 4, MSG_NOSIGNAL), 4);
  client.close();
  const base::Instant deadline = base::now() + kLong;
  while (fcntl(open, F_GETFD) >= 0 && base::now() < deadline) usleep(1000);
  EXPECT_LT(fcntl(open, F_GETFD), 0);
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, ANewConnectionIsNotClosedForOthersBeforeItsRequest) {
  const auto crew = this->crew({2, 1});
  const Fd early = connected();
  const Fd other = connected();
  EXPECT_EQ(served(other), 'x');
  const Fd late = connected();
  EXPECT_EQ(served(late), 'x');
  EXPECT_EQ(served(early), 'x');
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, ANewConnectionThatSendsNothingIsClosedInTime) {
  const auto crew = this->crew({2, 1, Seconds{0.01}});
  const Fd silent = connected();
  char byte = 0;
  EXPECT_EQ(read(silent.get(), &byte, 1), 0);
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, ASilentConnectionIsClosedInTimeThoughWhoLookedAfterItIsBusy) {
  for (int round = 0; round < 8; ++round) {  // any of the two leaders may become busy
    std::atomic<bool> may_go{false};
    Crew::Limits limits{8, 4, Seconds{0.02}};
    limits.leaders = 2;
    const auto crew = this->crew(limits, [&may_go](int connection, Crew::Seat& seat) {
      const Then then = echo(connection, seat);
      char byte = 0;
      if (then == Then::next && recv(connection, &byte, 1, MSG_DONTWAIT) == 1) {
        seat.about_to_wait();
        may_go.wait(false);
      }
      return then;
    });
    const Fd busy = connected();
    char byte = 'w';
    EXPECT_EQ(send(busy.get(), &byte, 1, MSG_NOSIGNAL), 1);
    EXPECT_EQ(read(busy.get(), &byte, 1), 1);
    const Fd silent = connected();
    const Fd other = connected();
    EXPECT_EQ(served(other), 'x');
    EXPECT_EQ(send(busy.get(), "xx", 2, MSG_NOSIGNAL), 2);
    EXPECT_EQ(read(silent.get(), &byte, 1), 0);
    may_go = true;
    may_go.notify_all();
    EXPECT_TRUE(crew->finish(kLong));
  }
}

TEST_F(Crewed, ManyMoreClientsThanThreadsAreAllServed) {
  const auto crew = this->crew({3, 2});
  std::vector<Fd> clients;
  std::string answers;
  clients.reserve(30);
  for (int i = 0; i < 30; ++i) clients.push_back(connected());
  for (const Fd& client : clients) answers += served(client);
  EXPECT_EQ(answers, std::string(30, 'x'));
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, NewConnectionsThatSendNothingDoNotKeepOthersOut) {
  const auto crew = this->crew({3, 1});
  std::vector<Fd> silent;
  silent.reserve(6);
  for (int i = 0; i < 6; ++i) silent.push_back(connected());
  EXPECT_EQ(served(connected()), 'x');
  EXPECT_TRUE(crew->finish(kLong));
}

// Answers 'x' to a request of a hundred bytes, '-' to one that is given up.
Then serve_hundred(int connection, Crew::Seat& seat) {
  std::array<char, 100> bytes{};
  if (recv(connection, bytes.data(), 1, MSG_PEEK | MSG_DONTWAIT) != 1) return Then::nothing;
  Arrival arrival{base::now(), base::now()};
  char answer = 'x';
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t more = seat.receive(connection, std::span(bytes).subspan(got), arrival);
    if (more <= 0) {
      answer = '-';
      break;
    }
    got += static_cast<std::size_t>(more);
  }
  send(connection, &answer, 1, MSG_NOSIGNAL);
  return Then::close;
}

TEST_F(Crewed, RequestsThatAreNeverWholeDoNotKeepOthersOut) {
  const auto crew = this->crew({3, 1}, serve_hundred);
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
  EXPECT_TRUE(crew->finish(kLong));
}

TEST_F(Crewed, FinishesAtOnceWhenNobodyAsks) {
  const auto crew = this->crew({8, 2});
  const Fd idle = connected();
  EXPECT_EQ(served(idle), 'x');
  const Fd silent = connected();
  EXPECT_TRUE(crew->finish(kLong));
  EXPECT_EQ(served(idle), '.');
}

TEST_F(Crewed, FinishesTheRequestThatIsUnderWay) {
  std::atomic<bool> may_go{false};
  const auto crew = this->crew({8, 2}, [&](int connection, Crew::Seat& seat) {
    char byte = 0;
    if (recv(connection, &byte, 1, MSG_DONTWAIT) != 1) return Then::nothing;
    seat.about_to_wait();
    byte = 'b';
    EXPECT_EQ(write(connection, &byte, 1), 1);
    may_go.wait(false);
    EXPECT_EQ(write(connection, &byte, 1), 1);
    return Then::next;
  });
  const Fd client = connected();
  EXPECT_EQ(served(client), 'b');
  EXPECT_FALSE(crew->finish(Seconds{0.01}));
  may_go = true;
  may_go.notify_all();
  EXPECT_TRUE(crew->finish(kLong));
  char byte = 0;
  EXPECT_EQ(read(client.get(), &byte, 1), 1);
}

TEST_F(Crewed, TellsOfABrokenListeningSocket) {
  Fd broken(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));  // never listens: accept says EINVAL
  base::Result<Connections> connections = Connections::at(broken.get());
  ASSERT_TRUE(connections) << connections.error().what;
  Crew crew(*std::move(connections), broken.get(), Crew::Limits{8, 2}, admit_all, echo);
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
