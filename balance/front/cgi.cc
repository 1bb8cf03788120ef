// SPDX-License-Identifier: MIT
// The CGI half of the gateway: one answer out, the body in and forgotten.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "balance/front/gateway.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

std::string_view value_of(const char* const* variables, std::string_view name) {
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    if (variable.size() > name.size() && variable[name.size()] == '=' && variable.substr(0, name.size()) == name) {
      return variable.substr(name.size() + 1);
    }
  }
  return "";
}

// Of the body on standard input; without a length (a chunked one) as many as come.
std::uint64_t body_bytes(const char* const* variables) {
  const bool is_chunked = !value_of(variables, "HTTP_TRANSFER_ENCODING").empty();
  const std::uint64_t otherwise = is_chunked ? std::numeric_limits<std::uint64_t>::max() : 0;
  return base::whole_number(value_of(variables, "CONTENT_LENGTH")).value_or(otherwise);
}

void forget_body(std::uint64_t bytes) {
  constexpr int kPatienceMs = 30'000;
  std::array<char, 16384> piece;
  while (bytes > 0) {
    pollfd interest{STDIN_FILENO, POLLIN, 0};
    if (poll(&interest, 1, kPatienceMs) <= 0) return;
    const ssize_t got = read(STDIN_FILENO, piece.data(), std::min<std::uint64_t>(bytes, piece.size()));
    if (got <= 0) return;
    bytes -= static_cast<std::uint64_t>(got);
  }
}

}  // namespace

base::Status answer_cgi(const std::string& answer, const char* const* variables) {
  std::size_t written = 0;
  while (written < answer.size()) {
    const ssize_t bytes = write(STDOUT_FILENO, answer.data() + written, answer.size() - written);
    if (bytes < 0 && errno != EINTR) return base::system_error("cannot write the answer");
    if (bytes > 0) written += static_cast<std::size_t>(bytes);
  }
  forget_body(body_bytes(variables));
  return base::ok();
}

}  // namespace balance
