// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text.
#include "loadprobe/answer.h"

#include "loadprobe/base/text.h"
#include "loadprobe/dispatch_book.h"

namespace loadprobe {

Ruling rule_on(const Question& question) {
  constexpr std::uint64_t kMostDispatches = 1ULL << 63;
  if (question.admission == Admission::refused) return {403, "This address is not allowed to ask.\n", {}};
  if (question.method != "GET" && question.method != "HEAD") return {405, "Wanted GET or HEAD.\n", {}};
  if (question.path == "/") return {200, "loadprobe: the load of this host is at /metrics\n", {}};
  if (question.path != "/metrics") return {404, "Nothing here; wanted /metrics.\n", {}};
  if (!question.balancer && !question.dispatched) return {};

  const auto balancer = question.balancer ? parse_balancer_id(*question.balancer) : std::nullopt;
  const auto count = question.dispatched ? base::whole_number(*question.dispatched) : std::nullopt;
  if (!balancer || !count || *count > kMostDispatches) {
    return {400, "Wanted balancer=<16 hexadecimal digits in lower case>&dispatched=<a whole number>.\n", {}};
  }
  return {200, "", Told{*balancer, *count}};
}

}  // namespace loadprobe
