// SPDX-License-Identifier: MIT
// What a choice costs: reads the table, chooses, counts the dispatch; without understanding the request and without
// making the answer. Prints nanoseconds of CPU a choice for each number of hosts: choice HOSTS...
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "balance/pool/decision.h"
#include "balance/table/table.h"
#include "loadprobe/base/clock.h"

namespace {

using namespace balance;

double cpu_nanoseconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

Config config_of(std::size_t hosts) {
  std::string text;
  for (std::size_t i = 0; i < hosts; ++i) {
    const std::string number = std::to_string(i);
    text += "host = h" + number + " http://h" + number + ".example.org\n";
  }
  return *parse_config(text, "bench.conf");
}

void fill(Table& table, Instant now) {
  Standing standing;
  standing.health = Health::up;
  standing.web = WebPort::answers;
  standing.cores = 2;
  standing.running = 1;
  standing.reported = standing.web_answered = now;
  for (std::size_t host = 0; host < table.hosts(); ++host) table.publish(host, standing);
  PoolStanding pool;
  pool.beat = pool.started = now;
  pool.greatest_capacity = pool.median_cores = 2;
  table.publish(pool);
}

void choose_once(const Request& request, const Config& config, const Plan& plan, Table& table, Instant now,
                 Draw& draw) {
  const Snapshot snapshot = snapshot_for(request, config, plan, table, now, draw);
  const Choice choice = predict(snapshot);
  const Candidate& chosen = candidate_of(snapshot, choice.hosts.front());
  if (choice.took_turn) {
    const Turn after = turn_taken(chosen, snapshot.virtual_time);
    table.take_turn(chosen.host, chosen.turn, after.host, after.pool);
  }
  table.dispatch(chosen.host, now, [&](const Prediction& seen) { return with_dispatch(seen, chosen, snapshot); });
}

double measure(std::size_t hosts, const std::string& path) {
  constexpr int kRounds = 7, kChoices = 3000;
  const Config config = config_of(hosts);
  Table table = *Table::create(path, {.fingerprint = config.fingerprint, .hosts = hosts, .boot_id = "bench"});
  const Instant now = base::now();
  fill(table, now);
  RawRequest raw;
  raw.method = "GET";
  raw.query_string = "map=WORLD&mode=map&layers=countries";
  raw.script_name = raw.request_uri = "/cgi-bin/mapserv";
  raw.host = "maps.example.org";
  const Request request = *parse_request(raw, config);
  const Plan plan = plan_for(request, config, Relaying::absent);
  Draw draw{1};
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const double before = cpu_nanoseconds();
    for (int i = 0; i < kChoices; ++i) choose_once(request, config, plan, table, now, draw);
    rounds.push_back((cpu_nanoseconds() - before) / kChoices);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

}  // namespace

int main(int count, char** arguments) {
  std::string folder = (std::filesystem::temp_directory_path() / "choice-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  for (int i = 1; i < count; ++i) {
    const auto hosts = static_cast<std::size_t>(std::atoi(arguments[i]));
    std::printf("%.0f\n", measure(hosts, folder + "/t"));
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
