// SPDX-License-Identifier: MIT
#include "balance/front/body_records.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "loadprobe/base/fd.h"

namespace balance {
namespace {

constexpr unsigned kVersion = 1, kAbortRequest = 2, kStdin = 5;

unsigned byte_of(std::span<const char, BodyRecords::kHeaderBytes> header, std::size_t i) {
  return static_cast<unsigned char>(header[i]);
}

unsigned id_of(std::span<const char, BodyRecords::kHeaderBytes> header) {
  return byte_of(header, 2) << 8 | byte_of(header, 3);
}

base::Error closed() { return {base::Fault::unavailable, "the web server closed the connection within a body"}; }

base::Error failed() {
  if (errno == EAGAIN) return {base::Fault::unavailable, "a body comes too slowly"};
  return base::system_error("cannot read a body");
}

}  // namespace

BodyRecords::BodyRecords(Receive receive, std::span<const char, kHeaderBytes> first_header)
    : receive_(std::move(receive)), request_id_(id_of(first_header)) {
  if (!understand(first_header)) state_ = State::broken;
}

base::Status BodyRecords::receive_all(std::span<char> to) {
  while (!to.empty()) {
    const ssize_t got = receive_(to);
    if (got == 0) return closed();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed();
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return base::ok();
}

base::Status BodyRecords::skip_padding() {
  std::array<char, 255> padding;
  const std::size_t bytes = std::min(padding_left_, padding.size());
  padding_left_ = 0;
  return receive_all(std::span(padding).first(bytes));
}

base::Status BodyRecords::read_header() {
  if (base::Status skipped = skip_padding(); !skipped) return skipped;
  std::array<char, kHeaderBytes> header;
  if (base::Status got = receive_all(header); !got) return got;
  return understand(header);
}

base::Status BodyRecords::understand(std::span<const char, kHeaderBytes> header) {
  const bool is_ours = byte_of(header, 0) == kVersion && id_of(header) == request_id_;
  if (!is_ours || byte_of(header, 1) != kStdin) {
    const bool is_abort = is_ours && byte_of(header, 1) == kAbortRequest;
    return base::Error{
        is_abort ? base::Fault::unavailable : base::Fault::input,
        is_abort ? "the web server aborted the request" : "a record within a body that is no part of it"};
  }
  content_left_ = byte_of(header, 4) << 8 | byte_of(header, 5);
  padding_left_ = byte_of(header, 6);
  if (content_left_ > 0) return base::ok();
  state_ = State::ended;
  return skip_padding();
}

base::Result<std::size_t> BodyRecords::read(std::span<char> to) {
  if (state_ == State::ended) return std::size_t{0};
  if (state_ == State::broken) return closed();
  if (content_left_ == 0) {
    if (base::Status got = read_header(); !got) {
      state_ = State::broken;
      return got.error();
    }
    if (state_ == State::ended) return std::size_t{0};
  }
  for (;;) {
    const ssize_t got = receive_(to.first(std::min(to.size(), content_left_)));
    if (got > 0) {
      content_left_ -= static_cast<std::size_t>(got);
      return static_cast<std::size_t>(got);
    }
    if (got < 0 && errno == EINTR) continue;
    state_ = State::broken;
    return got == 0 ? closed() : failed();
  }
}

}  // namespace balance
