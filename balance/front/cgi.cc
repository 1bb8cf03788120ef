// SPDX-License-Identifier: MIT
// The CGI half of the gateway: one request from the environment and standard input, one answer to standard output.
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

constexpr int kPatienceMs = 30'000;

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

class CgiExchange : public Exchange {
 public:
  explicit CgiExchange(const char* const* variables)
      : variables_(variables),
        has_length_(base::whole_number(value_of(variables, "CONTENT_LENGTH")).has_value()),
        body_left_(body_bytes(variables)) {}

  const char* const* variables() const override { return variables_; }

  base::Result<std::size_t> read_body(std::span<char> to) override {
    while (body_left_ > 0) {
      pollfd interest{STDIN_FILENO, POLLIN, 0};
      const int ready = poll(&interest, 1, kPatienceMs);
      if (ready < 0 && errno == EINTR) continue;
      const ssize_t got =
          ready > 0 ? read(STDIN_FILENO, to.data(), std::min<std::uint64_t>(body_left_, to.size())) : -1;
      if (got < 0 && ready > 0 && errno == EINTR) continue;
      if (got > 0) {
        body_left_ -= static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
      }
      body_left_ = 0;
      if (ready == 0) return base::Error{base::Fault::unavailable, "the web server fell silent within a body"};
      if (got < 0) return base::system_error("cannot read a body");
      if (has_length_) return base::Error{base::Fault::input, "the body is shorter than its Content-Length"};
    }
    return std::size_t{0};
  }

  // The process that a broken answer ends with is gone either way: mod_cgid and lighttpd pass on what came as whole.
  void break_off() override { has_failed_ = true; }
  Break how_breaks_show() const override { return Break::is_hidden; }
  int watched() override { return -1; }
  bool is_abandoned() override { return has_failed_; }
  bool has_failed() const { return has_failed_; }

 private:
  base::Status put(std::string_view piece) override {
    while (!piece.empty()) {
      const ssize_t bytes = ::write(STDOUT_FILENO, piece.data(), piece.size());
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < 0) {
        has_failed_ = true;
        return base::system_error("cannot write the answer");
      }
      piece.remove_prefix(static_cast<std::size_t>(bytes));
    }
    return base::ok();
  }

  const char* const* const variables_;
  const bool has_length_;
  std::uint64_t body_left_;
  bool has_failed_ = false;
};

}  // namespace

base::Status serve_cgi(const char* const* variables, const Respond& respond) {
  CgiExchange exchange(variables);
  respond(exchange);
  std::array<char, 16384> piece;
  for (;;) {
    const base::Result<std::size_t> forgotten = exchange.read_body(piece);
    if (!forgotten || *forgotten == 0) break;
  }
  if (exchange.has_failed()) return base::Error{base::Fault::io, "the answer did not get through"};
  return base::ok();
}

}  // namespace balance
