// SPDX-License-Identifier: MIT
#include "balance/front/body_records.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <string_view>

#include "loadprobe/base/fd.h"

namespace balance {
namespace {

std::string record(int type, std::string_view content, int id = 1, int padding = 0) {
  std::string bytes{1, static_cast<char>(type), 0, static_cast<char>(id)};
  bytes.push_back(static_cast<char>(content.size() >> 8));
  bytes.push_back(static_cast<char>(content.size() & 0xff));
  bytes.push_back(static_cast<char>(padding));
  bytes.push_back(0);
  return bytes.append(content).append(static_cast<std::size_t>(padding), 'p');
}

// What is read of these bytes, behind which the other side closes: the body and '|', or what was wrong. The first
// header was taken off the connection.
std::string read_all(std::string_view bytes, std::size_t at_once = 7) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const base::Fd ours(ends[0]);
  {
    const base::Fd theirs(ends[1]);
    const std::string_view behind = bytes.substr(BodyRecords::kHeaderBytes);
    EXPECT_EQ(send(theirs.get(), behind.data(), behind.size(), 0), static_cast<ssize_t>(behind.size()));
  }
  const auto receive = [&ours](std::span<char> to) { return recv(ours.get(), to.data(), to.size(), 0); };
  BodyRecords records(receive, std::span(bytes).first<BodyRecords::kHeaderBytes>());
  std::string body;
  std::array<char, 64> piece;
  for (;;) {
    const base::Result<std::size_t> got = records.read(std::span(piece).first(at_once));
    if (!got) return body + " -> " + got.error().what;
    if (*got == 0) return records.has_ended() ? body + "|" : body + " -> no end";
    body.append(piece.data(), *got);
  }
}

TEST(BodyRecords, GiveTheContentOfAllRecords) {
  EXPECT_EQ(read_all(record(5, "map=") + record(5, "WORLD", 1, 3) + record(5, "")), "map=WORLD|");
}

TEST(BodyRecords, AnEmptyBodyEndsAtOnce) { EXPECT_EQ(read_all(record(5, "")), "|"); }

TEST(BodyRecords, EveryTruncationIsAnError) {
  const std::string whole = record(5, "map=WORLD", 1, 2) + record(5, "");
  for (std::size_t size = BodyRecords::kHeaderBytes; size < whole.size(); ++size) {
    EXPECT_NE(read_all(whole.substr(0, size)).find(" -> the web server closed"), std::string::npos) << size;
  }
}

TEST(BodyRecords, AnAbortIsToldFromARecordThatDoesNotBelongHere) {
  EXPECT_EQ(read_all(record(5, "a") + record(2, "")), "a -> the web server aborted the request");
  EXPECT_EQ(read_all(record(5, "a") + record(9, "x", 0)), "a -> a record within a body that is no part of it");
  EXPECT_EQ(read_all(record(5, "a") + record(5, "x", 2)), "a -> a record within a body that is no part of it");
}

}  // namespace
}  // namespace balance
