// SPDX-License-Identifier: MIT
// 300 writers of standings are killed in the middle of their work, under readers: nobody ever reads a standing that is
// put together of two. Every field of a published standing follows from one number.
#include <string>

#include "balance/table/table.h"
#include "tests/stress/stress.h"

namespace {

using balance::Instant;
using balance::PoolStanding;
using balance::Seconds;
using balance::Standing;
using balance::Table;
using stress::require;

constexpr int kWriters = 300;
constexpr std::size_t kHosts = 4;
constexpr std::size_t kReaders = 2;

Standing standing_from(std::uint64_t n) {
  const double number = static_cast<double>(n);
  Standing standing;
  standing.health = static_cast<balance::Health>(n % 4);
  standing.duty = static_cast<balance::Duty>(n % 3);
  standing.web = static_cast<balance::WebPort>(n / 4 % 4);
  standing.reported = Instant{Seconds{number}};
  standing.web_answered = Instant{Seconds{number + 1}};
  standing.up_since = Instant{Seconds{number + 2}};
  standing.changed = Instant{Seconds{number + 3}};
  standing.cores = static_cast<double>(n % 65536);
  standing.background = static_cast<double>(n % 1000003);
  standing.mean_service_seconds = static_cast<double>(n % 1000033 + 1);
  standing.running = static_cast<double>(n % 1000037);
  standing.waiting = static_cast<double>(n % 1000039);
  standing.load1 = static_cast<double>(n % 1000081);
  while (standing.cause.size() < 100) standing.cause += std::to_string(n) + " ";
  standing.cause.resize(100);
  return standing;
}

PoolStanding pool_from(std::uint64_t n) {
  const double number = static_cast<double>(n);
  return PoolStanding{.beat = Instant{Seconds{number}},
                      .started = Instant{Seconds{number + 1}},
                      .mean_service_seconds = static_cast<double>(n % 1000033 + 1),
                      .share = 1 / static_cast<double>(n % 1000 + 1),
                      .greatest_capacity = static_cast<double>(n % 1000037),
                      .median_cores = static_cast<double>(n % 65535 + 1),
                      .panic = n % 2 == 1};
}

bool is_whole(const Standing& read) {
  const Standing wanted = standing_from(static_cast<std::uint64_t>(read.reported.time_since_epoch().count()));
  return read.health == wanted.health && read.duty == wanted.duty && read.web == wanted.web &&
         read.web_answered == wanted.web_answered && read.up_since == wanted.up_since &&
         read.changed == wanted.changed && read.cores == wanted.cores && read.background == wanted.background &&
         read.mean_service_seconds == wanted.mean_service_seconds && read.running == wanted.running &&
         read.waiting == wanted.waiting && read.load1 == wanted.load1 && read.cause == wanted.cause;
}

bool is_whole(const PoolStanding& read) {
  const PoolStanding wanted = pool_from(static_cast<std::uint64_t>(read.beat.time_since_epoch().count()));
  return read.started == wanted.started && read.mean_service_seconds == wanted.mean_service_seconds &&
         read.share == wanted.share && read.greatest_capacity == wanted.greatest_capacity &&
         read.median_cores == wanted.median_cores && read.panic == wanted.panic;
}

void write_for_ever(Table& table, std::uint64_t n) {
  for (;; ++n) {
    for (std::size_t host = 0; host < kHosts; ++host) table.publish(host, standing_from(n));
    table.publish(pool_from(n));
  }
}

void read_until_told(const Table& table, stress::Counters& counters) {
  while (!counters.stop) {
    for (std::size_t host = 0; host < kHosts; ++host) {
      const auto standing = table.standing(host);
      if (standing) require(is_whole(*standing), "a standing under a writer is whole");
      if (!standing) counters.nothing += 1;
    }
    const auto pool = table.pool();
    if (pool) require(is_whole(*pool), "the pool under a writer is whole");
    if (!pool) counters.nothing += 1;
    counters.looks += kHosts + 1;
  }
}

// With nobody writing any more there is no excuse: everything is there, whole, and not older than before.
void check_after_kill(const Table& table, std::uint64_t& newest) {
  for (std::size_t host = 0; host < kHosts; ++host) {
    const auto standing = table.standing(host);
    require(standing.has_value(), "after a kill there is a standing");
    require(is_whole(*standing), "after a kill the standing is whole");
  }
  const auto pool = table.pool();
  require(pool && is_whole(*pool), "after a kill the pool is whole");
  const auto n = static_cast<std::uint64_t>(pool->beat.time_since_epoch().count());
  require(n >= newest, "what was published stays published");
  newest = n;
}

}  // namespace

int main() {
  alarm(120);
  const stress::Folder folder;
  base::Result<Table> table = Table::create(folder / "t", {.fingerprint = 1, .hosts = kHosts, .boot_id = "b"});
  require(static_cast<bool>(table), "a table");
  for (std::size_t host = 0; host < kHosts; ++host) table->publish(host, standing_from(0));
  table->publish(pool_from(0));

  stress::Counters& counters = stress::shared_counters();
  pid_t readers[kReaders];
  for (pid_t& reader : readers) reader = stress::child([&] { read_until_told(*table, counters); });
  std::uint64_t newest = 0;
  stress::Chance chance{88172645463325252U};
  for (std::uint64_t i = 1; i <= kWriters; ++i) {
    const pid_t writer = stress::child([&] { write_for_ever(*table, i * 10'000'000); });
    stress::pause_for(static_cast<long>(500 + chance.next() % 3000));
    kill(writer, SIGKILL);
    require(waitpid(writer, nullptr, 0) == writer, "wait for a writer");
    check_after_kill(*table, newest);
  }
  counters.stop = true;
  for (const pid_t reader : readers) stress::end_well(reader, "a reader");
  require(newest > 10'000'000, "the writers wrote");
  require(counters.looks > 1000, "the readers read");
  std::printf("table_kill: %d writers killed, %llu reads, none torn (%llu found the writer too fast)\n", kWriters,
              static_cast<unsigned long long>(counters.looks), static_cast<unsigned long long>(counters.nothing));
}
