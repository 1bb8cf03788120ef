// SPDX-License-Identifier: MIT
// 400 processes that count requests in flight are killed in the middle of it, side by side, while a sweeper clears what
// they leave, as poolwatch does: what one process counts for itself alone is never disturbed, and in the end nothing is
// left over.
#include <vector>

#include "balance/table/in_flight.h"
#include "tests/stress/stress.h"

namespace {

using balance::InFlight;
using balance::Table;
using stress::require;

constexpr int kKilled = 400;
constexpr std::size_t kAtOnce = 8;
constexpr std::size_t kHosts = 5;  // 0 to 3 for the crowd, 4 for the one that lives
constexpr std::size_t kOnlyOurs = 4;
const balance::TableShape kShape{.fingerprint = 1, .hosts = kHosts, .boot_id = "b"};

void count_for_ever(const std::string& path, std::uint64_t seed) {
  InFlight flights;
  require(static_cast<bool>(flights.use(path, kShape)), "each process has a slot");
  stress::Chance chance{seed | 1};
  std::vector<InFlight::Count> counts;
  for (;;) {
    counts.push_back(flights.begin(chance.next() % 4));
    if (counts.size() > 20) counts.erase(counts.begin(), counts.begin() + static_cast<long>(chance.next() % 20));
  }
}

void sweep_until_told(const std::string& path, stress::Counters& counters) {
  base::Result<Table> table = Table::open(path, kShape);
  require(static_cast<bool>(table), "the sweeper opens the table");
  while (!counters.stop) {
    counters.looks += table->clear_dead_slots();
    stress::pause_for(200);
  }
}

// It claims anew and again, so that it often follows one that was killed.
void live_until_told(const std::string& path, const Table& table, stress::Counters& counters) {
  while (!counters.stop) {
    InFlight flights;
    require(static_cast<bool>(flights.use(path, kShape)), "the living one has a slot");
    require(table.in_flight(kOnlyOurs) == 0, "a new slot is empty");
    std::vector<InFlight::Count> counts;
    for (std::uint32_t n = 1; n <= 30; ++n) {
      counts.push_back(flights.begin(kOnlyOurs));
      require(table.in_flight(kOnlyOurs) == n, "nobody clears what a living process counts");
    }
    counters.nothing += 1;
  }
}

}  // namespace

int main() {
  alarm(120);
  const stress::Folder folder;
  const std::string path = folder / "t";
  base::Result<Table> table = Table::create(path, kShape);
  require(static_cast<bool>(table), "a table");
  stress::Counters& counters = stress::shared_counters();
  const pid_t sweeper = stress::child([&] { sweep_until_told(path, counters); });
  const pid_t living = stress::child([&] { live_until_told(path, *table, counters); });
  stress::Chance chance{88172645463325252U};
  std::vector<pid_t> crowd;
  for (int i = 0; i < kKilled; ++i) {
    const std::uint64_t seed = chance.next();
    crowd.push_back(stress::child([&] { count_for_ever(path, seed); }));
    stress::pause_for(static_cast<long>(200 + chance.next() % 2000));
    if (crowd.size() < kAtOnce && i + 1 < kKilled) continue;
    const auto victim = crowd.begin() + static_cast<long>(chance.next() % crowd.size());
    kill(*victim, SIGKILL);
    require(waitpid(*victim, nullptr, 0) == *victim, "wait for a victim");
    crowd.erase(victim);
  }
  for (const pid_t victim : crowd) {
    kill(victim, SIGKILL);
    require(waitpid(victim, nullptr, 0) == victim, "wait for a victim");
  }
  counters.stop = true;
  stress::end_well(sweeper, "the sweeper");
  stress::end_well(living, "the living one");
  counters.looks += table->clear_dead_slots();
  for (std::size_t host = 0; host < kHosts; ++host) require(table->in_flight(host) == 0, "in the end nothing is left");
  require(table->clear_dead_slots() == 0, "every slot is free and clear");
  require(counters.nothing > 10, "the living one claimed slots");
  std::printf(
      "flight_kill: %d processes killed, %llu slots cleared after them, %llu claims of a living one undisturbed\n",
      kKilled, static_cast<unsigned long long>(counters.looks), static_cast<unsigned long long>(counters.nothing));
}
