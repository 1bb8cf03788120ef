// SPDX-License-Identifier: MIT
#include "balance/ctl/quiet.h"

#include <algorithm>

#include "balance/ctl/columns.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

std::string counted(double number, std::string_view one, std::string_view many) {
  return rounded(number, Digits{0}) + " " + std::string(number > 1 ? many : one);
}

}  // namespace

// A table made anew counts from 0: any other number is a dispatch.
std::optional<std::string> Quiet::look(const HostAtWork& host, Instant now) {
  if (dispatches_ && *dispatches_ != host.dispatches) {
    dispatched_ = now;
    saw_dispatch_ = true;
  }
  dispatches_ = host.dispatches;
  const bool tells = host.reports && (host.standing.map_running || host.standing.running);
  if (tells) {
    hear(host.standing);
  } else {
    quiet_reports_ = 0;
  }
  if (host.in_flight > 0) {
    return counted(host.in_flight, "relayed request is in flight", "relayed requests are in flight");
  }
  const Seconds since = now - dispatched_;
  if (since < kSinceDispatch) {
    return saw_dispatch_
               ? "a request was sent to it " + age_text(since) + " ago"
               : "nothing was sent to it for " + age_text(since) + "; wanted " + base::to_text(kSinceDispatch);
  }
  if (!tells) {
    if (since >= without_reports_) return std::nullopt;
    return "it does not report what it does; " + age_text(without_reports_ - since) + " of drain-wait are left";
  }
  if (quiet_reports_ >= kReports) return std::nullopt;
  if (const double waiting = host.standing.waiting.value_or(0); waiting > 0) {
    return counted(waiting, "request waits for a map process", "requests wait for a map process");
  }
  const double running = host.standing.map_running.value_or(host.standing.running.value_or(0));
  const bool are_maps = host.standing.map_running.has_value();
  if (running > 0) {
    return are_maps ? counted(running, "map process is at work", "map processes are at work")
                    : counted(running, "task is runnable", "tasks are runnable");
  }
  return "it has been idle for " + std::to_string(quiet_reports_) + " of 4 reports";
}

void Quiet::hear(const Standing& standing) {
  if (standing.reported == reported_) return;
  reported_ = standing.reported;
  const double running = standing.map_running.value_or(standing.running.value_or(0));
  const bool is_quiet = running < 0.5 && standing.waiting.value_or(0) < 0.5;
  quiet_reports_ = is_quiet ? quiet_reports_ + 1 : 0;
}

}  // namespace balance
