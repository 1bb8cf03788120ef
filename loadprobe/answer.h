// SPDX-License-Identifier: MIT
// What a request gets: the rules of loadprobe's small HTTP interface.
// Floor 1: pure functions over text.
//
//   GET /metrics                                     200, the page
//   GET /metrics?balancer=<16 hex>&dispatched=<n>    200, the page; the balancer's count is told first
//   ...&map_processes=1 with either                  200, the page and how many map processes are at work
//   GET /                                            200, a pointer to /metrics
//   another path, method, or an unreadable count     404, 405, 400
//   anything from an address that is not allowed     403
// HEAD is GET without the body. Parameters of other names are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loadprobe {

enum class Admission { allowed, refused };

struct Question {
  std::string_view method;
  std::string_view path;
  std::optional<std::string_view> balancer;
  std::optional<std::string_view> dispatched;
  Admission admission = Admission::refused;
  std::optional<std::string_view> map_processes = {};
};

// A balancer and how many requests it has sent to this host.
struct Told {
  std::uint64_t balancer = 0;
  std::uint64_t count = 0;
  friend bool operator==(const Told&, const Told&) = default;
};

struct Ruling {
  unsigned status = 200;
  std::string text;          // what to send; for the metrics, "": they are not text of ours
  std::optional<Told> told;  // to be entered before the page is made
  bool counts_map_processes = false;
  bool wants_metrics() const { return status == 200 && text.empty(); }
};

Ruling rule_on(const Question& question);

}  // namespace loadprobe
