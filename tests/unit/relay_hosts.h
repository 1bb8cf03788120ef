// SPDX-License-Identifier: MIT
// A relay and hosts on loopback that behave as badly as a test wants.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/relay/relay.h"
#include "balance/table/table.h"
#include "loadprobe/base/clock.h"
#include "tests/unit/exchanges.h"
#include "tests/unit/requests.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"
#include "tests/unit/watch_server.h"

namespace balance::testing {

inline constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n and the rest of a picture";
inline constexpr std::string_view kGetMap = "map=WORLD&service=WMS&request=GetMap&format=image/png";
inline constexpr std::string_view kCapabilities = "map=WORLD&service=WMS&request=GetCapabilities";
inline constexpr std::string_view kMessage =
    "<HTML>\n<HEAD><TITLE>MapServer Message</TITLE></HEAD>\n<BODY>loadMap(): Unable to access file</BODY></HTML>";

inline std::size_t length_in(const std::string& head) {
  const std::size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
}

// Of a host on loopback.
inline std::string host_line(const std::string& name, std::uint16_t port) {
  return "host = " + name + " http://127.0.0.1:" + std::to_string(port) + " probe=none\n";
}

// A host that treats each connection alike and remembers what it was asked.
class Host {
 public:
  using Then = std::function<void(Connection&)>;
  explicit Host(Then then)
      : server_([this, then = std::move(then)](Connection& connection) {
          std::string head = connection.read_request();
          if (head.empty()) return;
          std::string body = connection.read_bytes(length_in(head));
          ++requests_;
          last_ = std::move(head);
          last_body_ = std::move(body);
          then(connection);
        }) {}
  explicit Host(std::string answer) : Host([answer = std::move(answer)](Connection& to) { to.send(answer); }) {}

  std::string line(const std::string& name) const { return host_line(name, server_.port()); }
  int requests() const { return requests_; }
  // After the relay has answered.
  const std::string& last() const { return last_; }
  const std::string& last_body() const { return last_body_; }

 private:
  std::atomic<int> requests_{0};
  std::string last_, last_body_;
  Server server_;  // its thread uses the others
};

inline std::string picture(std::string_view more = "") {
  return answer_of("200 OK", kPng, "Connection: close\r\nContent-Type: image/png\r\n" + std::string(more));
}
inline std::string document(std::string_view body) {
  return answer_of("200 OK", body, "Connection: close\r\nContent-Type: text/xml\r\n");
}
inline std::string page(std::string_view body) {
  return answer_of("200 OK", body, "Connection: close\r\nContent-Type: text/html\r\n");
}

class Relay : public ::testing::Test {
 protected:
  Relay() {
    base::Result<std::unique_ptr<Relayer>> made = make_relay();
    EXPECT_TRUE(made);
    relayer_ = *std::move(made);
  }

  void configure(const std::string& hosts, const std::string& relay = "") {
    const auto unless_set = [&relay](const std::string& name) {
      return relay.find(name) == std::string::npos ? name + " = 200ms\n" : "";
    };
    config_ = config_of(
        "[relay]\nconnect-timeout = 1s\n" + relay + unless_set("stall-timeout") + unless_set("response-timeout"),
        "public-url = http://maps.example.org/cgi-bin/mapserv\nmode = relay\n" + hosts);
  }

  // Asks the hosts in the order of the configuration.
  std::string ask(std::string_view query, std::string_view method = "GET", std::string body = "",
                  std::string_view type = "") {
    exchange_ = std::make_unique<MemoryExchange>(std::vector<std::string>{}, std::move(body));
    exchange_->breaks = breaks_;
    exchange_->takes = takes_;
    RawRequest raw = get(query);
    raw.method = method;
    raw.content_type = type;
    raw.content_length = content_length_;
    relay(raw, *exchange_);
    return exchange_->answer;
  }

  // Any thread may call it.
  void relay(RawRequest& raw, Exchange& exchange) {
    raw.remote_addr = "192.0.2.7";
    Request request = request_of(raw, config_);
    RelayJob job{exchange, raw, request, config_, table_ ? &*table_ : nullptr, Decision{}, Draw{1}};
    job.decision->plan.action = Action::relay;
    for (std::size_t i = 0; i < config_.hosts.size(); ++i) job.decision->choice.hosts.push_back(i);
    job.decision->host = 0;
    relayer_->relay(std::move(job));
  }

  void make_table() {
    const TableShape shape{config_.fingerprint, config_.hosts.size(), base::boot_id()};
    table_.emplace(balance::make_table(folder_ / "table", shape));
    relayer_->use_table(folder_ / "table", shape);
  }

  ScratchDir folder_;
  Config config_;
  std::optional<Table> table_;
  std::unique_ptr<Relayer> relayer_;
  std::unique_ptr<MemoryExchange> exchange_;
  Exchange::Break breaks_ = Exchange::Break::shows;
  std::size_t takes_ = std::string::npos;
  std::string content_length_;
};

inline bool begins(const std::string& text, std::string_view with) { return text.starts_with(with); }
inline std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "(no end of the head)" : answer.substr(end + 4);
}

}  // namespace balance::testing
