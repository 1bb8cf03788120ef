// SPDX-License-Identifier: MIT
// The table's file is truncated, and overwritten with random bytes, under processes that use it: they go on, read
// nothing or something sane, and end when they are told to.
#include <fcntl.h>
#include <sys/stat.h>

#include <cmath>
#include <thread>
#include <vector>

#include "balance/table/table.h"
#include "loadprobe/base/fd.h"
#include "tests/stress/stress.h"

namespace {

using balance::Instant;
using balance::Prediction;
using balance::Seconds;
using balance::Standing;
using balance::Table;
using stress::require;

constexpr std::size_t kHosts = 50;
constexpr Instant kNow{Seconds{1000}};
constexpr std::size_t kUsers = 4;  // processes, of 2 threads each
const balance::TableShape kShape{.fingerprint = 1, .hosts = kHosts, .boot_id = "b"};

bool is_sane(double number) { return std::isfinite(number) && std::abs(number) <= 1e12; }

void look(const Table& table, std::size_t host) {
  if (const auto standing = table.standing(host)) {
    require(is_sane(standing->cores) && standing->cores >= 0, "cores make sense");
    require(is_sane(standing->background) && standing->mean_service_seconds > 0, "loads make sense");
    require(is_sane(standing->reported.time_since_epoch().count()), "instants make sense");
    require(standing->cause.size() <= 111 && standing->cause.find('\x1b') == std::string::npos, "a cause is printable");
  }
  if (const auto pool = table.pool()) require(pool->share > 0 && pool->share <= 1, "the share makes sense");
  const balance::Live live = table.live(host, kNow);
  require(live.prediction.requests >= 0 && live.prediction.requests <= 1e6, "predictions make sense");
  const balance::ByHand& said = live.by_hand;
  require(!said.weight || (*said.weight >= 0 && *said.weight <= 1000), "weights set by hand make sense");
  require(said.duty <= balance::Duty::off && (!said.until || is_sane(said.until->time_since_epoch().count())),
          "duties set by hand make sense");
  static_cast<void>(table.weights_differ());
  require(live.turn >= 0 && is_sane(live.turn) && is_sane(table.virtual_time()), "virtual times make sense");
}

void use(Table& table, stress::Counters& counters, std::uint64_t seed) {
  stress::Chance chance{seed};
  while (!counters.stop) {
    const std::size_t host = chance.next() % kHosts;
    look(table, host);
    table.dispatch(host, kNow, [](Prediction seen) { return Prediction{seen.requests + 1, kNow}; });
    const double seen = table.live(host, kNow).turn;
    table.take_turn(host, seen, seen + 1, seen + 1);
    const balance::SetByHand all{{kHosts, {.weight = 2, .duty = balance::Duty::draining}}, true};
    static_cast<void>(table.set_by_hand(all, table.words_by_hand()));
    const std::uint64_t client = chance.next();
    table.remember_client(client, host, kNow);
    const auto other = table.host_of_client(chance.next(), kNow, Seconds{600});
    require(!other || *other < kHosts, "a client's host is one of ours");
    if (!table.intact()) counters.lost += 1;
    counters.looks += 1;
  }
}

void use_with_threads(const std::string& path, stress::Counters& counters) {
  base::Result<Table> table = Table::open(path, kShape);
  require(static_cast<bool>(table), "a table to use");
  counters.nothing += 1;  // one more has begun
  std::thread other([&] { use(*table, counters, 1234567); });
  use(*table, counters, 7654321);
  other.join();
}

void overwrite(const std::string& path, std::size_t from, std::size_t bytes, stress::Chance& chance) {
  const base::Result<base::Fd> file = base::Fd::open(path, O_WRONLY);
  require(static_cast<bool>(file), "the file to damage");
  std::vector<std::uint64_t> garbage(bytes / 8 + 1);
  for (std::uint64_t& word : garbage) word = chance.next();
  require(pwrite(file->get(), garbage.data(), bytes, static_cast<off_t>(from)) == static_cast<ssize_t>(bytes),
          "damage");
}

std::size_t size_of(const std::string& path) {
  struct stat status = {};
  require(stat(path.c_str(), &status) == 0, "the file's size");
  return static_cast<std::size_t>(status.st_size);
}

// Does something to a table in use, and sees its users end well.
template <class Damage>
std::uint64_t damage_under_users(const std::string& path, Damage damage) {
  base::Result<Table> table = Table::create(path, kShape);
  require(static_cast<bool>(table), "a fresh table");
  stress::Counters& counters = stress::shared_counters();
  pid_t users[kUsers];
  for (pid_t& user : users) user = stress::child([&] { use_with_threads(path, counters); });
  while (counters.nothing < kUsers) stress::pause_for(500);
  damage(*table);
  stress::pause_for(20000);
  counters.stop = true;
  for (const pid_t user : users) stress::end_well(user, "a user of a damaged table");
  require(counters.looks > 0, "the users used it");
  return counters.lost;
}

void randomly(const std::string& path, Table& table, std::size_t from, stress::Chance& chance) {
  const std::size_t bytes = size_of(path);
  for (int i = 0; i < 20; ++i) {
    overwrite(path, from, bytes - from, chance);
    for (std::size_t host = 0; host < kHosts; ++host) table.publish(host, Standing{});
    stress::pause_for(1000);
  }
}

// Whatever the file holds, opening it ends, and says no.
int open_garbage(const std::string& path, stress::Chance& chance) {
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) {
    overwrite(path, 0, size_of(path), chance);
    require(!Table::open(path, kShape), "random bytes are no table");
  }
  return kTimes;
}

}  // namespace

int main() {
  alarm(120);
  const stress::Folder folder;
  const std::string path = folder / "t";
  stress::Chance chance{88172645463325252U};
  for (const off_t size : {off_t{0}, off_t{1}, off_t{4096}, off_t{20000}}) {
    const std::uint64_t lost = damage_under_users(path, [&](Table&) {
      require(truncate(path.c_str(), size) == 0, "truncate");
      require(size != 0 || !Table::open(path, kShape), "a truncated file is no table");
    });
    require(lost > 0, "users of a truncated table notice");
  }
  damage_under_users(path, [&](Table&) {
    for (int i = 0; i < 50; ++i) {  // gone and back again, as a careless editor would
      const std::size_t bytes = size_of(path);
      require(truncate(path.c_str(), 0) == 0 && truncate(path.c_str(), static_cast<off_t>(bytes)) == 0, "truncate");
      stress::pause_for(300);
    }
  });
  require(damage_under_users(path, [&](Table& table) { randomly(path, table, 0, chance); }) > 0,
          "users of a table without its head notice");
  damage_under_users(path, [&](Table& table) { randomly(path, table, 64, chance); });
  const int opened = open_garbage(path, chance);
  std::printf(
      "table_damage: 5 truncations and 40 floods of random bytes under %zu users, %d openings of garbage: fine\n",
      kUsers, opened);
}
