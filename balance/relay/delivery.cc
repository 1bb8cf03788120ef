// SPDX-License-Identifier: MIT
#include "balance/relay/delivery.h"

#include <optional>
#include <utility>

#include "balance/ground/reply.h"
#include "balance/ground/sticky.h"

namespace balance {

Taker::Then Delivery::take_line(std::string_view line) {
  if (base::Status taken = reader_.add(line); !taken) {
    relayed_ = Relayed::host_fault;
    why_ = taken.error().what;
    stop_ = Stop::bad_head;
    return Then::stop;
  }
  if (!reader_.is_whole() || reader_.is_interim()) return Then::go_on;
  state_ = State::judging;
  judge_held(Rest::more_may_come);
  return stop_ == Stop::none ? Then::go_on : Then::stop;
}

Taker::Then Delivery::take_body(std::string_view piece) {
  switch (state_) {
    case State::head:  // libcurl gives no body before the head has ended
      return Then::stop;
    case State::judging:
      held_.append(piece);
      judge_held(Rest::more_may_come);
      break;
    case State::keeping:
      if (held_.size() + piece.size() > kMostKept) {
        stop_ = Stop::too_long;
      } else {
        held_.append(piece);
      }
      break;
    case State::holding:
    case State::streaming:
      return pass(piece);
  }
  return stop_ == Stop::none ? Then::go_on : Then::stop;
}

void Delivery::judge_held(Rest rest) {
  const std::string_view first = std::string_view(held_).substr(0, kMostHeldBytes);
  const std::optional<Judgement> judgement = judge(wanted_by(asked_.request), reader_.head(), first, rest);
  if (!judgement) return;
  relayed_ = judgement->relayed;
  why_ = judgement->why;
  const bool may_be_better =
      judgement->answered == Answered::host_fault || may_look_elsewhere(asked_.request, reader_.head().status);
  if (may_be_better && asked_.elsewhere == Elsewhere::may_be_tried) {
    state_ = State::keeping;
  } else {
    begin();
  }
}

bool Delivery::would_hide_a_break() const {
  switch (asked_.exchange.how_breaks_show()) {
    case Exchange::Break::shows:
      return false;
    case Exchange::Break::shows_by_length:
      return !reader_.head().content_length.has_value();
    case Exchange::Break::is_hidden:
      return true;
  }
  return true;
}

// From here on the client gets the answer: its head, and what was held of the body.
void Delivery::begin() {
  Reply reply = relay_reply(reader_.head(), asked_.host, asked_.config);
  if (asked_.binds_to) keep_by_cookie(reply, asked_.request, asked_.config, *asked_.binds_to);
  std::string text = to_cgi(reply, asked_.request.method);
  if (!asked_.drop_body) text.append(held_);
  held_ = std::move(text);
  state_ = would_hide_a_break() ? State::holding : State::streaming;
}

Taker::Then Delivery::pass(std::string_view piece) {
  if (asked_.drop_body) {
    dropped_ += piece.size();
    if (dropped_ <= kMostDropped) return Then::go_on;
    stop_ = Stop::enough;
    return Then::stop;
  }
  held_.append(piece);
  if (held_.size() <= (state_ == State::streaming ? kMostGathered : kMostHeldBack)) return Then::go_on;
  state_ = State::streaming;
  return write();
}

Taker::Then Delivery::take_pause() { return state_ == State::streaming ? write() : Then::go_on; }

Taker::Then Delivery::write() {
  if (stop_ == Stop::unwanted) return Then::stop;
  const bool was_taken = held_.empty() || asked_.exchange.write(held_);
  held_.clear();
  if (held_.capacity() > 2 * kMostGathered) held_.shrink_to_fit();
  if (was_taken) return Then::go_on;
  stop_ = Stop::unwanted;
  return Then::stop;
}

Delivery::Came Delivery::deliver() {
  begin();
  return finish();
}

// The whole answer has come.
Delivery::Came Delivery::finish() {
  if (state_ == State::head) {
    relayed_ = Relayed::broke_off;
    return Came::nothing;
  }
  if (state_ == State::judging) judge_held(Rest::none);
  if (state_ == State::keeping) return Came::kept;
  (void)write();
  return stop_ == Stop::unwanted ? Came::unwanted : Came::delivered;
}

Delivery::Came Delivery::end(const Transfer& transfer) {
  using End = Transfer::End;
  if (transfer.end == End::whole || (transfer.end == End::stopped && stop_ == Stop::enough)) return finish();
  if (transfer.end == End::abandoned || stop_ == Stop::unwanted) {
    relayed_ = Relayed::fine;  // what would have become of it nobody knows
    return Came::unwanted;
  }
  if (transfer.end != End::stopped) why_ = transfer.why;
  switch (transfer.end) {
    case End::no_connection:
      relayed_ = Relayed::no_connection;
      break;
    case End::timed_out:
      relayed_ = Relayed::timed_out;
      break;
    case End::broke_off:
      relayed_ = Relayed::broke_off;
      break;
    case End::garbage:
      relayed_ = Relayed::host_fault;
      break;
    case End::whole:
    case End::stopped:
    case End::abandoned:
      break;  // the judgement, or the reader of the head, has said it
  }
  // What the client has nothing of yet can still be had elsewhere.
  if (!asked_.exchange.has_begun()) return Came::nothing;
  (void)write();
  return asked_.drop_body ? Came::delivered : Came::broken;
}

}  // namespace balance
