// SPDX-License-Identifier: MIT
// Real listening sockets, asked for as the daemon does.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "loadprobe/base/fd.h"
#include "loadprobe/listen_queues.h"

namespace loadprobe {
namespace {

class RealQueues : public testing::Test {
 protected:
  RealQueues() {
    std::string name = testing::TempDir() + "queues.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~RealQueues() override { std::filesystem::remove_all(folder_); }

  sockaddr_un unix_address(const std::string& name) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path(name).c_str(), sizeof address.sun_path - 1);
    return address;
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  base::Fd listen_unix(const std::string& name) const {
    const sockaddr_un address = unix_address(name);
    base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket.get(), 16), 0);
    return socket;
  }
  base::Fd connect_unix(const std::string& name) const {
    const sockaddr_un address = unix_address(name);
    base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  // A socket that shares its port with others; port 0 takes a free one and tells it.
  static base::Fd listen_tcp(std::uint16_t& port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket.get(), 16), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    return socket;
  }
  static base::Fd connect_tcp(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  static ListenQueues queues(const std::vector<std::string>& texts) {
    std::vector<Queue> queues;
    for (const std::string& text : texts) queues.push_back(*parse_queue(text));
    return ListenQueues(std::move(queues));
  }

  std::string folder_;
};

TEST_F(RealQueues, WhoeverIsNotAcceptedYetWaits) {
  const base::Fd door = listen_unix("a");
  ListenQueues asked = queues({"unix:" + path("a")});
  EXPECT_EQ(asked.waiting(), 0);
  const base::Fd first = connect_unix("a"), second = connect_unix("a"), third = connect_unix("a");
  EXPECT_EQ(asked.waiting(), 3);
  const base::Fd accepted(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(asked.waiting(), 2);
  EXPECT_TRUE(asked.causes().empty());
}

TEST_F(RealQueues, SocketsOfOnePortAreOneQueue) {
  std::uint16_t port = 0;
  const base::Fd one = listen_tcp(port);
  const base::Fd two = listen_tcp(port);
  std::vector<base::Fd> clients;
  for (int i = 0; i < 7; ++i) clients.push_back(connect_tcp(port));
  EXPECT_EQ(queues({"tcp:127.0.0.1:" + std::to_string(port)}).waiting(), 7);
}

TEST_F(RealQueues, SeveralQueuesAreAddedUp) {
  std::uint16_t port = 0;
  const base::Fd web = listen_tcp(port);
  const base::Fd door = listen_unix("a");
  const base::Fd client = connect_tcp(port), first = connect_unix("a"), second = connect_unix("a");
  EXPECT_EQ(queues({"tcp:127.0.0.1:" + std::to_string(port), "unix:" + path("a")}).waiting(), 3);
}

TEST_F(RealQueues, AListenerThatIsNotThereIsNoZeroAndHasACause) {
  const base::Fd door = listen_unix("a");
  ListenQueues asked = queues({"unix:" + path("a"), "unix:" + path("gone")});
  EXPECT_FALSE(asked.waiting());
  ASSERT_EQ(asked.causes().size(), 1U);
  EXPECT_EQ(asked.causes().begin()->first, "unix:" + path("gone"));
  EXPECT_EQ(asked.causes().begin()->second, "nobody listens there");
}

TEST_F(RealQueues, AListenerThatHasGoneTakesItsQueueAlong) {
  ListenQueues asked = queues({"unix:" + path("a")});
  {
    const base::Fd door = listen_unix("a");
    EXPECT_EQ(asked.waiting(), 0);
  }
  EXPECT_FALSE(asked.waiting());
  std::filesystem::remove(path("a"));
  const base::Fd again = listen_unix("a");
  EXPECT_EQ(asked.waiting(), 0);
}

TEST_F(RealQueues, ManyListenersComeInSeveralDatagrams) {
  std::vector<base::Fd> doors;
  for (int i = 0; i < 600; ++i) doors.push_back(listen_unix("door-with-a-name-of-some-length-" + std::to_string(i)));
  const base::Fd client = connect_unix("door-with-a-name-of-some-length-599");
  EXPECT_EQ(queues({"unix:" + path("door-with-a-name-of-some-length-599")}).waiting(), 1);
}

TEST_F(RealQueues, WithoutQueuesNothingIsAsked) { EXPECT_FALSE(queues({}).waiting()); }

}  // namespace
}  // namespace loadprobe
