// SPDX-License-Identifier: MIT
#include "balance/front/head.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>

#include "balance/front/screen.h"
#include "loadprobe/base/clock.h"

namespace balance {
namespace {

constexpr std::size_t kUsualHeadBytes = 4096;
constexpr std::size_t kMostHeadBytes = std::size_t{128} << 10;  // nginx itself refuses above 64 KB

// Takes the head of a request of which `seen` is there already off the connection, to the byte. That takes longer than
// to let libfcgi read it, but what stands behind it stays: a body, or another request.
Head take_head(int connection, std::string_view seen, Crew::Seat& seat) {
  const base::Instant began = base::now();
  Arrival arrival{began, began};
  HeadExtent extent;
  Head head{Head::What::taken, ""};
  std::size_t wanted = std::min(extent.at_least(seen), seen.size());
  while (head.bytes.size() < wanted) {
    if (wanted > kMostHeadBytes) return {Head::What::refused, ""};
    const std::size_t before = head.bytes.size();
    head.bytes.resize(wanted);
    const ssize_t got = seat.receive(connection, std::span(head.bytes).subspan(before), arrival);
    if (got <= 0) return {};
    head.bytes.resize(before + static_cast<std::size_t>(got));
    wanted = extent.at_least(head.bytes);
  }
  const Screened screened = screen(head.bytes);
  return screened == Screened::without_body || screened == Screened::with_body ? head : Head{Head::What::refused, ""};
}

// Whether these are a request without a body, and nothing else.
bool is_one_request(std::string_view seen, Screened screened) {
  if (screened != Screened::without_body) return false;
  const std::size_t end = HeadExtent().at_least(seen);
  constexpr std::size_t kPaddingFromEnd = 2;
  const std::size_t padding = static_cast<unsigned char>(seen[end - kPaddingFromEnd]);
  return seen.size() == end + padding;
}

}  // namespace

Head look_at_head(int connection, Crew::Seat& seat) {
  std::array<char, kUsualHeadBytes> buffer;
  ssize_t got = -1;
  do {
    got = recv(connection, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return {Head::What::nothing, ""};
  if (got <= 0) return {};
  const std::string_view seen(buffer.data(), static_cast<std::size_t>(got));
  const Screened screened = screen(seen);
  if (screened == Screened::refused) return {Head::What::refused, ""};
  if (is_one_request(seen, screened)) return {Head::What::there, ""};
  return take_head(connection, seen, seat);
}

}  // namespace balance
