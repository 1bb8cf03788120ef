// SPDX-License-Identifier: MIT
// 1,000 clients make 20 requests each, by 8 processes at once, with the real table and policy and a clock of our own:
// no client changes its host while that is usable; where one host dies only its clients move, where it returns nobody
// does, and after sticky-timeout all are free again. Once with the entries of the table, once with those that two
// configurations share.
#include <array>
#include <string>
#include <vector>

#include "balance/front/decide.h"
#include "balance/table/affinity.h"
#include "tests/stress/stress.h"

namespace {

using namespace balance;
using stress::require;

constexpr std::size_t kProcesses = 8, kClients = 1000, kRequests = 20, kHosts = 4;
constexpr const char* kBoot = "boot";

// What every client got of every request, seen by all processes.
struct Board {
  std::array<std::array<std::atomic<int>, kRequests>, kClients> host;
  std::atomic<std::size_t> ready;
};

Config configured(const std::string& sticky, const std::array<int, kHosts>& order) {
  std::string text = "sticky = " + sticky + "\n";
  for (const int i : order) {
    const std::string number = std::to_string(i);
    text += "host = host" + number + " http://host" + number + ".example.org\n";
  }
  base::Result<Config> config = parse_config(text, "test.conf");
  require(static_cast<bool>(config), "a configuration");
  return *std::move(config);
}

Request request_of(std::size_t client, const Config& config) {
  const std::string address = "10.0." + std::to_string(client / 250) + "." + std::to_string(client % 250 + 1);
  RawRequest raw;
  raw.method = "GET";
  raw.query_string = "map=WORLD&mode=map";
  raw.script_name = "/cgi-bin/mapserv";
  raw.server_name = "maps.example.org";
  raw.remote_addr = address;
  base::Result<Request> request = parse_request(raw, config);
  require(static_cast<bool>(request), "a request");
  return *std::move(request);
}

// A balancer: its configuration and its files. Two may share the entries of clients.
struct Balancer {
  Config config;
  StateFiles files;

  TableShape shape() const { return {config.fingerprint, kHosts, kBoot}; }
  bool is_wild() const { return config.sticky.kind == Sticky::client_wild; }
  void make() const {
    require(static_cast<bool>(Table::create(files.table, shape())), "a table");
    if (is_wild()) require(static_cast<bool>(make_clients(files, config, kBoot, {})), "a file of clients");
  }
  void report(Instant now, int dead, int busy) const {
    base::Result<Table> table = Table::open(files.table, shape());
    require(static_cast<bool>(table), "the table");
    PoolStanding pool;
    pool.beat = pool.started = now;
    table->publish(pool);
    for (std::size_t i = 0; i < kHosts; ++i) {
      const int number = config.hosts[i].name.back() - '0';
      Standing standing;
      standing.health = number == dead ? Health::down : Health::up;
      standing.reported = now;
      standing.cores = 4;
      table->publish(i, standing);
      table->set_prediction(i, {number == busy ? 1e5 : 0.0, now});
    }
  }
};

// One process's part of 20 requests of each client, which all processes make of the same client at once.
void work(const Balancer& balancer, std::size_t process, Instant now, Board& board) {
  base::Result<Table> table = Table::open(balancer.files.table, balancer.shape());
  require(static_cast<bool>(table), "each process opens the table");
  std::optional<Table> clients;
  if (balancer.is_wild()) {
    base::Result<Table> opened = open_clients(balancer.files, balancer.config, kBoot);
    require(static_cast<bool>(opened), "each process opens the file of clients");
    clients = *std::move(opened);
  }
  Draw draw{process};
  board.ready.fetch_add(1);
  while (board.ready.load() < kProcesses) stress::pause_for(10);
  for (std::size_t client = 0; client < kClients; ++client) {
    const Request request = request_of(client, balancer.config);
    for (std::size_t i = process; i < kRequests; i += kProcesses) {
      const Decision decision =
          decide_and_dispatch(request, balancer.config, {&*table, clients ? &*clients : nullptr}, now, draw);
      require(decision.host.has_value(), "every request gets a host");
      board.host[client][i] = balancer.config.hosts[*decision.host].name.back() - '0';
    }
  }
}

using Hosts = std::vector<int>;  // by client

// All requests of all clients at one instant: whose each client is. It is one host's for all of its requests.
Hosts round(const std::vector<Balancer>& balancers, Instant now, Board& board, int dead, int busy = -1) {
  for (const Balancer& balancer : balancers) balancer.report(now, dead, busy);
  board.ready = 0;
  std::vector<pid_t> workers;
  for (std::size_t i = 0; i < kProcesses; ++i) {
    workers.push_back(stress::child([&] { work(balancers[i % balancers.size()], i, now, board); }));
  }
  for (const pid_t worker : workers) stress::end_well(worker, "a worker");
  Hosts hosts;
  for (const auto& requests : board.host) {
    for (const auto& host : requests) require(host == requests[0], "a client has one host while that is usable");
    hosts.push_back(requests[0]);
  }
  return hosts;
}

std::size_t count_of(const Hosts& hosts, int host) {
  return static_cast<std::size_t>(std::count(hosts.begin(), hosts.end(), host));
}

void run(const std::vector<Balancer>& balancers, const char* what) {
  auto& board =
      *static_cast<Board*>(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (const Balancer& balancer : balancers) balancer.make();
  Instant now{Seconds{1000}};
  const Hosts first = round(balancers, now, board, -1);
  for (int host = 0; host < static_cast<int>(kHosts); ++host) {
    require(count_of(first, host) > kClients / 10, "every host has its clients");
  }
  require(round(balancers, now += Seconds{59}, board, -1, first[0]) == first, "nobody moves from a busy host");
  const Hosts without = round(balancers, now += Seconds{59}, board, 1);
  for (std::size_t i = 0; i < kClients; ++i) {
    require(first[i] == 1 ? without[i] != 1 : without[i] == first[i], "the dead host's clients move, and only they");
  }
  require(round(balancers, now += Seconds{59}, board, -1) == without, "nobody moves when it returns");
  const Hosts free = round(balancers, now += Seconds{60}, board, -1, 2);
  require(count_of(free, 2) == 0, "after sticky-timeout clients are free to leave a busy host");
  std::printf("sticky_clients: %s: %zu clients of %zu processes, %zu moved with their host and no other\n", what,
              kClients, kProcesses, count_of(first, 1));
}

}  // namespace

int main() {
  alarm(240);
  const stress::Folder folder;
  run({{configured("client", {0, 1, 2, 3}), state_files(folder / "", "one.conf")}}, "client");
  run({{configured("client-wild", {0, 1, 2, 3}), state_files(folder / "", "two.conf")},
       {configured("client-wild", {2, 0, 3, 1}), state_files(folder / "", "three.conf")}},
      "client-wild, two configurations");
}
