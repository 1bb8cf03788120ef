// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "loadprobe/sock_diag.h"

namespace loadprobe {
namespace {

std::string bytes_of(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

// One message of the kernel (all numbers little-endian, as on every machine that this is tested on).
std::string message(int type, int sequence, const std::string& body) {
  const int size = static_cast<int>(16 + body.size());
  std::string text = bytes_of({size & 255, size >> 8, 0, 0, type, 0, 2, 0, sequence, 0, 0, 0, 1, 0, 0, 0}) + body;
  while (text.size() % 4 != 0) text += '\0';
  return text;
}

std::string attribute(int type, const std::string& bytes) {
  std::string text = bytes_of({static_cast<int>(4 + bytes.size()), 0, type, 0}) + bytes;
  while (text.size() % 4 != 0) text += '\0';
  return text;
}

constexpr int kSockDiag = 20, kDone = 3, kError = 2;

// A UNIX socket that listens, with so many connections waiting in it.
std::string unix_socket(const std::string& name, int waiting) {
  return message(kSockDiag, 1,
                 bytes_of({1, 1, 10, 0, 77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) + attribute(0, name) +
                     attribute(4, bytes_of({waiting, 0, 0, 0, 128, 0, 0, 0})));
}

std::string tcp_socket(int family, std::initializer_list<int> address, int waiting) {
  std::string source = bytes_of(address);
  source.resize(16, '\0');
  return message(kSockDiag, 1,
                 bytes_of({family, 10, 0, 0, 0x23, 0x28, 0, 0}) + source + std::string(16 + 4 + 8 + 4, '\0') +
                     bytes_of({waiting, 0, 0, 0}) + std::string(12, '\0'));
}

std::vector<Listening> found_in(const std::string& datagram) {
  std::vector<Listening> found;
  EXPECT_TRUE(take_answer(datagram, 1, found));
  return found;
}

TEST(SockDiag, AsksForUnixSocketsThatListenTheirNamesAndQueues) {
  EXPECT_EQ(ask_for_listening(Family::unix_sockets, 1),
            bytes_of({40, 0, 0, 0, 20, 0, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0}) +
                bytes_of({17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(SockDiag, AsksForTcpSocketsThatListen) {
  const std::string question = ask_for_listening(Family::ipv6, 7);
  ASSERT_EQ(question.size(), 16U + 56U);
  EXPECT_EQ(question.substr(8, 4), bytes_of({7, 0, 0, 0}));
  EXPECT_EQ(question.substr(16, 8), bytes_of({10, 6, 0, 0, 0, 4, 0, 0}));
}

TEST(SockDiag, ReadsUnixSocketsWithAndWithoutAnEndOfTheirNames) {
  const auto found = found_in(unix_socket(std::string("/run/a\0", 7), 3) + unix_socket("/run/b", 0) +
                              unix_socket(std::string("\0hidden", 7), 1));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].path, "/run/a");
  EXPECT_EQ(found[0].waiting, 3U);
  EXPECT_EQ(found[1].path, "/run/b");
  EXPECT_EQ(found[2].path, "@hidden");
}

TEST(SockDiag, ReadsTcpSocketsOfBothFamilies) {
  const auto found = found_in(tcp_socket(2, {127, 0, 0, 1}, 5) + tcp_socket(10, {0x20, 1}, 6));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(base::to_text(found[0].endpoint.address), "127.0.0.1");
  EXPECT_EQ(found[0].endpoint.port, 9000);
  EXPECT_EQ(found[0].waiting, 5U);
  EXPECT_EQ(base::to_text(found[1].endpoint.address), "2001::");
}

TEST(SockDiag, EndsWithTheLastMessageAndPassesOverOtherSequences) {
  std::vector<Listening> found;
  EXPECT_EQ(*take_answer(unix_socket("/run/a", 1), 1, found), Answer::unfinished);
  EXPECT_EQ(*take_answer(unix_socket("/run/a", 1) + message(kDone, 1, bytes_of({0, 0, 0, 0})), 1, found),
            Answer::finished);
  EXPECT_EQ(found.size(), 2U);
  EXPECT_EQ(*take_answer(message(kDone, 9, bytes_of({0, 0, 0, 0})), 1, found), Answer::unfinished);
}

TEST(SockDiag, ARefusalIsAnErrorWithItsCause) {
  std::vector<Listening> found;
  const auto answer = take_answer(message(kError, 1, bytes_of({0xFE, 0xFF, 0xFF, 0xFF})), 1, found);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "the kernel refuses to tell the listening sockets: No such file or directory");
}

TEST(SockDiag, EveryTruncationIsAnErrorOrWhole) {
  for (const std::string& whole : {unix_socket("/run/a", 3), tcp_socket(2, {127, 0, 0, 1}, 5)}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      std::vector<Listening> found;
      EXPECT_FALSE(take_answer(whole.substr(0, size), 1, found)) << size;
      EXPECT_TRUE(found.empty());
    }
  }
}

TEST(SockDiag, AnAttributeThatClaimsTooMuchIsAnError) {
  std::string lying = unix_socket("/run/a", 3);
  lying[32] = 127;  // the size of the name
  std::vector<Listening> found;
  EXPECT_FALSE(take_answer(lying, 1, found));
  lying[32] = 0;
  EXPECT_FALSE(take_answer(lying, 1, found));
}

TEST(Queue, ReadsAndWritesBothKinds) {
  for (const char* text : {"unix:/run/mapserv.sock", "tcp:127.0.0.1:9000", "tcp:[::1]:9000", "tcp:[::]:80"}) {
    const auto queue = parse_queue(text);
    ASSERT_TRUE(queue) << text;
    EXPECT_EQ(to_text(*queue), text);
  }
}

TEST(Queue, RefusesWhatIsNoListeningSocket) {
  for (const std::string& bad :
       {std::string(""), std::string("unix:"), std::string("unix:run/a"), std::string("unix:/"),
        std::string("tcp:localhost:9000"), std::string("tcp:127.0.0.1"), std::string("tcp:127.0.0.1:0"),
        std::string("udp:127.0.0.1:1"), "unix:/" + std::string(107, 'a')}) {
    const auto queue = parse_queue(bad);
    ASSERT_FALSE(queue) << bad;
    EXPECT_EQ(queue.error().what, "'" + bad +
                                      "' is no listening socket; wanted 'unix:/PATH' or 'tcp:ADDRESS:PORT' with a "
                                      "numeric address");
  }
}

Listening at(const char* address, std::uint32_t waiting) {
  Listening socket;
  socket.endpoint = {*base::parse_address(address), 9000};
  socket.waiting = waiting;
  return socket;
}

std::optional<double> waiting(const char* queue, const std::vector<Listening>& listening) {
  return waiting_in(*parse_queue(queue), listening);
}

TEST(Queue, SocketsThatShareAnAddressAreOneQueue) {
  EXPECT_EQ(waiting("tcp:127.0.0.1:9000", {at("127.0.0.1", 2), at("127.0.0.1", 3), at("127.0.0.2", 4)}), 5);
}

TEST(Queue, NobodyListeningIsNoZero) {
  EXPECT_FALSE(waiting("tcp:127.0.0.1:9000", {at("127.0.0.2", 4)}));
  EXPECT_FALSE(waiting("tcp:127.0.0.1:9001", {at("127.0.0.1", 4)}));
  EXPECT_FALSE(waiting("unix:/run/a", {at("127.0.0.1", 4)}));
  EXPECT_EQ(waiting("tcp:127.0.0.1:9000", {at("127.0.0.1", 0)}), 0);
}

TEST(Queue, TheWildcardServesAnAddressThatHasNoSocketOfItsOwn) {
  EXPECT_EQ(waiting("tcp:127.0.0.1:9000", {at("0.0.0.0", 2), at("::", 3)}), 2);
  EXPECT_EQ(waiting("tcp:127.0.0.1:9000", {at("0.0.0.0", 2), at("127.0.0.1", 7)}), 7);
  EXPECT_EQ(waiting("tcp:[::1]:9000", {at("0.0.0.0", 2), at("::", 3)}), 3);
  EXPECT_FALSE(waiting("tcp:[::1]:9000", {at("0.0.0.0", 2)}));
}

TEST(Queue, AnIpv6WildcardServesIpv4UnlessItIsForIpv6Alone) {
  Listening alone = at("::", 3);
  EXPECT_EQ(waiting("tcp:127.0.0.1:9000", {alone}), 3);
  alone.ipv6_alone = true;
  EXPECT_FALSE(waiting("tcp:127.0.0.1:9000", {alone}));
}

}  // namespace
}  // namespace loadprobe
