// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text.
#include "loadprobe/answer.h"

#include "loadprobe/base/text.h"
#include "loadprobe/dispatch_book.h"

namespace loadprobe {

namespace {

Ruling rule_on_count(const Question& question) {
  constexpr std::uint64_t kMostDispatches = 1ULL << 63;
  if (question.admission == Admission::refused) return {403, "This address is not allowed to ask.\n", {}, false};
  if (question.method != "GET" && question.method != "HEAD") return {405, "Wanted GET or HEAD.\n", {}, false};
  if (question.path == "/") return {200, "loadprobe: the load of this host is at /metrics\n", {}, false};
  if (question.path != "/metrics") return {404, "Nothing here; wanted /metrics.\n", {}, false};
  if (!question.balancer && !question.dispatched) return {};

  const auto balancer = question.balancer ? parse_balancer_id(*question.balancer) : std::nullopt;
  const auto count = question.dispatched ? base::whole_number(*question.dispatched) : std::nullopt;
  if (!balancer || !count || *count > kMostDispatches) {
    return {400, "Wanted balancer=<16 hexadecimal digits in lower case>&dispatched=<a whole number>.\n", {}, false};
  }
  return {200, "", Told{*balancer, *count}, false};
}

}  // namespace

Ruling rule_on(const Question& question) {
  Ruling ruling = rule_on_count(question);
  ruling.counts_map_processes = ruling.wants_metrics() && question.map_processes == "1";
  return ruling;
}

}  // namespace loadprobe
