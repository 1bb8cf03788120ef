// SPDX-License-Identifier: MIT
// 64 processes dispatch at once, take turns and remember clients, through one table: no dispatch is lost, no turn is
// taken twice.
#include "balance/table/table.h"
#include "tests/stress/stress.h"

namespace {

using balance::Instant;
using balance::Prediction;
using balance::Seconds;
using balance::Table;
using stress::require;

constexpr std::size_t kProcesses = 64;
constexpr std::uint64_t kDispatches = 3000;
constexpr std::uint64_t kTurns = 300;
constexpr std::size_t kHosts = 3;
constexpr Instant kNow{Seconds{1000}};
const balance::TableShape kShape{.fingerprint = 1, .hosts = kHosts, .boot_id = "b"};

void take_a_turn(Table& table) {
  for (;;) {
    const double seen = table.live(0, kNow).turn;
    if (table.take_turn(0, seen, seen + 1, seen)) return;
  }
}

void work(const std::string& path, std::uint64_t process) {
  base::Result<Table> table = Table::open(path, kShape);
  require(static_cast<bool>(table), "each process opens the table");
  for (std::uint64_t i = 0; i < kDispatches; ++i) {
    table->dispatch(i % kHosts, kNow, [](Prediction seen) { return Prediction{seen.requests + 1, seen.at}; });
  }
  for (std::uint64_t i = 0; i < kTurns; ++i) take_a_turn(*table);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t client = (process * 1000 + i) * 0x9e3779b97f4a7c15U;
    table->remember_client(client, i % kHosts, kNow);
    // Others may have thrown it out again, but never made it another host's.
    const auto host = table->host_of_client(client, kNow, Seconds{600});
    require(!host || *host == i % kHosts, "a client is remembered for its own host");
  }
}

}  // namespace

int main() {
  alarm(120);
  const stress::Folder folder;
  base::Result<Table> table = Table::create(folder / "t", kShape);
  require(static_cast<bool>(table), "a table");
  for (std::size_t host = 0; host < kHosts; ++host) table->set_prediction(host, {.requests = 0, .at = kNow});
  pid_t workers[kProcesses];
  for (std::size_t i = 0; i < kProcesses; ++i) workers[i] = stress::child([&] { work(folder / "t", i); });
  for (const pid_t worker : workers) stress::end_well(worker, "a worker");

  std::uint64_t counted = 0;
  double predicted = 0;
  for (std::size_t host = 0; host < kHosts; ++host) {
    counted += table->dispatches(host);
    predicted += table->live(host, kNow).prediction.requests;
  }
  require(counted == kProcesses * kDispatches, "every dispatch is counted");
  require(predicted == static_cast<double>(kProcesses * kDispatches), "every dispatch is predicted");
  require(table->live(0, kNow).turn == static_cast<double>(kProcesses * kTurns), "every turn is taken once");
  require(table->virtual_time() == static_cast<double>(kProcesses * kTurns - 1), "the pool follows its turns");
  std::printf("table_dispatch: %zu processes, %llu dispatches and %llu turns, none lost\n", kProcesses,
              static_cast<unsigned long long>(counted), static_cast<unsigned long long>(kProcesses * kTurns));
}
