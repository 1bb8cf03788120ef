// SPDX-License-Identifier: MIT
// Three hosts whose clients stay with them, unless a test wants other ones.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "balance/front/decide.h"
#include "balance/table/affinity.h"
#include "tests/unit/requests.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"

namespace balance {

constexpr Instant kNow{Seconds{5000}};

constexpr const char* kThreeHosts =
    "host = pinchot http://pinchot.example.org:8080\n"
    "host = leopold http://leopold.example.org:8080\n"
    "host = darwin http://darwin.example.org\n";

class StickyClient : public ::testing::Test {
 protected:
  explicit StickyClient(const std::string& lines = "sticky = client\n", const std::string& hosts = kThreeHosts)
      : config_(config_of(lines, hosts)), table_(make_table(folder_ / "test.table", config_)) {
    for (std::size_t host = 0; host < config_.hosts.size(); ++host) put(host, 10);
    beat(kNow);
  }
  void beat(Instant at) { table_.publish(PoolStanding{.beat = at, .started = Instant{Seconds{0}}}); }
  void put(std::size_t host, double requests, Instant at = kNow, Health health = Health::up,
           Duty duty = Duty::serving) {
    Standing standing = healthy(at);
    standing.health = health;
    standing.duty = duty;
    table_.publish(host, standing);
    table_.set_prediction(host, Prediction{requests, at});
  }
  Decision decided(const RawRequest& raw, Instant now = kNow) {
    return decide_and_dispatch(request_of(raw, config_), config_, &table_, now, draw_);
  }
  std::string ask(const RawRequest& raw, Instant now = kNow) {
    const Decision decision = decided(raw, now);
    return decision.host ? config_.hosts[*decision.host].name : "nobody";
  }

  ScratchDir folder_;
  Config config_;
  Table table_;
  Draw draw_{1};
};

}  // namespace balance
