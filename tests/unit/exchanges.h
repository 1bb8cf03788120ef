// SPDX-License-Identifier: MIT
// An exchange without a web server: variables and a body from memory, the answer into a string.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/front/exchange.h"

namespace balance {

class MemoryExchange : public Exchange {
 public:
  explicit MemoryExchange(std::vector<std::string> variables, std::string body = "")
      : texts_(std::move(variables)), body_(std::move(body)) {
    for (const std::string& text : texts_) variables_.push_back(text.c_str());
    variables_.push_back(nullptr);
  }

  const char* const* variables() const override { return variables_.data(); }
  base::Result<std::size_t> read_body(std::span<char> to) override {
    if (read_ == body_.size() && body_breaks_off) return base::Error{base::Fault::unavailable, "gone"};
    const std::size_t count = body_.copy(to.data(), std::min(to.size(), most_at_once), read_);
    read_ += count;
    return count;
  }
  void break_off() override { broken_off = true; }
  Break how_breaks_show() const override { return breaks; }
  int watched() override { return watched_fd; }
  bool is_abandoned() override { return abandoned; }

  std::string answer;
  bool broken_off = false, abandoned = false, body_breaks_off = false;
  int watched_fd = -1;
  Break breaks = Break::shows;
  std::size_t most_at_once = 1000;
  std::size_t takes = std::string::npos;  // bytes of an answer before the client has gone

 private:
  base::Status put(std::string_view piece) override {
    if (answer.size() + piece.size() > takes) return base::Error{base::Fault::unavailable, "gone"};
    answer.append(piece);
    return base::ok();
  }

  std::vector<std::string> texts_;
  std::vector<const char*> variables_;
  std::string body_;
  std::size_t read_ = 0;
};

}  // namespace balance
