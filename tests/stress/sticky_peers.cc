// SPDX-License-Identifier: MIT
// Two balancers with tables of their own, which do not talk, over simulated hosts at half their capacity: where a
// client goes from one to the other it keeps its host in at least 95 of 100 cases with sticky = client and peers = 2,
// and always by its cookie. Each client makes ten requests at one balancer, then ten at the other. The clock is
// simulated.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "balance/front/decide.h"
#include "balance/pool/prediction.h"
#include "tests/stress/stress.h"

namespace {

using namespace balance;
using stress::require;

constexpr double kStep = 0.005, kReportEvery = 0.25, kMeanService = 0.15, kMeanPause = 2;  // s
constexpr int kRequestsAtOne = 10;

struct Pool {
  const char* name;
  std::size_t hosts;
  double cores;
  std::size_t clients;  // that move
};

// Processor sharing.
struct Host {
  std::vector<double> work;  // left of each request, seconds of a core
  void run(double seconds, double cores) {
    const double each = seconds * std::min(1.0, cores / static_cast<double>(std::max<std::size_t>(work.size(), 1)));
    for (double& left : work) left -= each;
    std::erase_if(work, [](double left) { return left <= 0; });
  }
};

struct Client {
  std::string address, cookie;
  double next = 0;
  int requests = 0;
  std::string first, last;  // names of hosts, at the first balancer and the last
};

class Trial {
 public:
  Trial(const Pool& pool, const std::string& sticky) : pool_(pool), hosts_(pool.hosts) {
    std::string text = "sticky = " + sticky + "\npeers = 2\n";
    for (std::size_t i = 0; i < pool.hosts; ++i) {
      text += "host = h" + std::to_string(i) + " http://h" + std::to_string(i) + ".example.org\n";
    }
    for (std::size_t i = 0; i < 2; ++i) {
      base::Result<Config> config = parse_config(text + "state-dir = /b" + std::to_string(i) + "\n", "b.conf");
      require(static_cast<bool>(config), "a configuration");
      configs_.push_back(*std::move(config));
      base::Result<Table> table =
          Table::create(folder_ / ("t" + std::to_string(i)).c_str(), {configs_[i].fingerprint, pool.hosts, "boot"});
      require(static_cast<bool>(table), "a table");
      tables_.push_back(std::make_unique<Table>(*std::move(table)));
    }
  }

  // The share of clients that kept their host.
  double run() {
    const double rate = 0.5 * pool_.cores * static_cast<double>(pool_.hosts) / kMeanService;
    const auto at_once = static_cast<std::size_t>(std::ceil(rate * kMeanPause));
    std::vector<Client> clients;
    for (std::size_t i = 0; i < at_once; ++i) clients.push_back(new_client());
    std::size_t moved = 0, kept = 0;
    double report = 0;
    while (moved < pool_.clients) {
      now_ += kStep;
      for (Host& host : hosts_) host.run(kStep, pool_.cores);
      if (now_ >= report) {
        report += kReportEvery;
        tell();
      }
      for (Client& client : clients) {
        if (client.next > now_) continue;
        ask(client);
        if (client.requests < 2 * kRequestsAtOne) continue;
        ++moved;
        kept += client.first == client.last;
        client = new_client();
      }
    }
    require(load_ / now_ / static_cast<double>(pool_.hosts) / pool_.cores > 0.45, "half of the capacity is used");
    return static_cast<double>(kept) / static_cast<double>(moved);
  }

 private:
  double uniform() { return static_cast<double>(chance_.next() >> 11) * 0x1p-53; }
  double exponential(double mean) { return -mean * std::log(1 - uniform()); }
  Client new_client() {
    Client client;
    ++born_;
    client.address = "2001:db8:" + std::to_string(born_ / 5000) + ":" + std::to_string(born_ % 5000) + "::1";
    client.next = now_ + exponential(kMeanPause);
    return client;
  }
  Instant instant() const { return Instant{Seconds{1000 + now_}}; }
  void tell() {
    for (auto& table : tables_) {
      PoolStanding pool;
      pool.beat = instant();
      pool.started = Instant{Seconds{0}};
      pool.share = 0.5;
      pool.mean_service_seconds = kMeanService;
      table->publish(pool);
      for (std::size_t i = 0; i < hosts_.size(); ++i) {
        Standing standing;
        standing.health = Health::up;
        standing.reported = instant();
        standing.cores = pool_.cores;
        standing.mean_service_seconds = kMeanService;
        table->publish(i, standing);
        table->set_prediction(i, {static_cast<double>(hosts_[i].work.size()), instant()});
      }
    }
  }
  void ask(Client& client) {
    const std::size_t at = client.requests < kRequestsAtOne ? 0 : 1;
    const Config& config = configs_[at];
    RawRequest raw;
    raw.method = "GET";
    raw.query_string = "mode=map";
    raw.remote_addr = client.address;
    raw.cookie = client.cookie;
    base::Result<Request> request = parse_request(raw, config);
    require(static_cast<bool>(request), "a request");
    const Decision decision = decide_and_dispatch(*request, config, tables_[at].get(), instant(), draw_);
    require(decision.host.has_value(), "a host");
    for (const auto& [name, value] : decision.reply.headers) {
      if (name == "Set-Cookie") client.cookie = value.substr(0, value.find(';'));
    }
    client.last = config.hosts[*decision.host].name;
    if (client.requests == 0) client.first = client.last;
    ++client.requests;
    client.next = now_ + exponential(kMeanPause);
    const double work =
        kMeanService * std::exp(std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * 3.141592653589793 * uniform()) -
                                0.5);  // lognormal, sigma 1
    hosts_[*decision.host].work.push_back(work);
    load_ += work;
  }

  const Pool pool_;
  std::vector<Host> hosts_;
  stress::Folder folder_;
  std::vector<Config> configs_;
  std::vector<std::unique_ptr<Table>> tables_;
  stress::Chance chance_{88172645463325252U};
  Draw draw_{1};
  double now_ = 0, load_ = 0;
  std::size_t born_ = 0;
};

}  // namespace

int main() {
  alarm(240);
  for (const Pool& pool : {Pool{"2 hosts of 1 core", 2, 1, 2000}, Pool{"3 hosts of 2 cores", 3, 2, 3000},
                           Pool{"4 hosts of 4 cores", 4, 4, 5000}, Pool{"16 hosts of 4 cores", 16, 4, 5000}}) {
    const double by_hash = Trial(pool, "client").run();
    const double by_cookie = Trial(pool, "cookie").run();
    std::printf("sticky_peers: %s, half used: %.1f %% keep their host by hash, %.1f %% by cookie\n", pool.name,
                100 * by_hash, 100 * by_cookie);
    std::fflush(stdout);
    require(by_hash >= 0.95, "a client that changes balancer keeps its host in 95 of 100 cases");
    require(by_cookie == 1, "by its cookie it always keeps it");
  }
}
