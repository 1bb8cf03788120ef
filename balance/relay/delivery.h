// SPDX-License-Identifier: MIT
// A host's answer on its way to the client: judged by its head and first bytes before the client sees any of it, then
// streamed. One that is not good enough is kept, if it is short, in case no host gives a better one.
// Floor 3. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "balance/front/exchange.h"
#include "balance/ground/host_answer.h"
#include "balance/ground/relay_response.h"
#include "balance/relay/transfer.h"

namespace balance {

class Delivery : public Taker {
 public:
  static constexpr std::size_t kMostGathered = std::size_t{48} << 10;  // of what libcurl gives in pieces of 16 kB
  static constexpr std::size_t kMostKept = std::size_t{256} << 10;
  static constexpr std::size_t kMostHeldBack = std::size_t{4} << 20;   // where the gateway would hide a break
  static constexpr std::size_t kMostDropped = std::size_t{256} << 10;  // of a body that nobody wants

  // Whether another host may be asked where this one's answer is its own fault, or a 404 for what others may have.
  enum class Elsewhere : std::uint8_t { may_be_tried, is_no_choice };
  struct Asked {
    Exchange& exchange;
    const Request& request;
    const HostConfig& host;
    const Config& config;
    Elsewhere elsewhere = Elsewhere::is_no_choice;
    bool drop_body = false;
    std::optional<std::size_t> binds_to;  // the host's index: a sticky client that it serves stays with it
  };
  explicit Delivery(const Asked& asked) : asked_(asked) {}

  Then take_line(std::string_view line) override;
  Then take_body(std::string_view piece) override;
  Then take_pause() override;
  int watched() override { return asked_.exchange.watched(); }
  bool is_abandoned() override { return asked_.exchange.is_abandoned(); }

  enum class Came : std::uint8_t {
    nothing,    // or too little to be of use
    kept,       // whole, but another host may do better: deliver() passes it on
    delivered,  // whole, to the client
    broken,     // the client has a part of it, and no more will come
    unwanted,   // the client has gone
  };
  // Once the transfer has ended: what came of it.
  Came end(const Transfer& transfer);

  Relayed relayed() const { return relayed_; }  // what to say of the host
  const std::string& why() const { return why_; }
  const HostHead& head() const { return reader_.head(); }  // status 0: there was none

  // REQUIRES: end() said kept. Says delivered or unwanted.
  Came deliver();

 private:
  void judge_held(Rest rest);
  bool would_hide_a_break() const;
  void begin();
  Then pass(std::string_view piece);
  Then write();
  Came finish();

  const Asked asked_;
  HeadReader reader_;
  enum class State : std::uint8_t { head, judging, keeping, holding, streaming } state_ = State::head;
  std::string held_;  // judging, keeping: of the body; holding, streaming: of what the client gets
  std::size_t dropped_ = 0;
  enum class Stop : std::uint8_t { none, bad_head, too_long, enough, unwanted } stop_ = Stop::none;
  Relayed relayed_ = Relayed::fine;
  std::string why_;
};

}  // namespace balance
