// SPDX-License-Identifier: MIT
// Configurations and requests for tests, written as an administrator and a web server would write them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "balance/ground/config.h"
#include "balance/ground/reply.h"
#include "balance/ground/request.h"

namespace balance {

inline constexpr const char* kOneHost = "host = pinchot http://pinchot.example.org:8080\n";

// The hosts, and behind them the lines.
inline Config config_of(const std::string& lines = "", const std::string& hosts = kOneHost) {
  base::Result<Config> config = parse_config(hosts + lines, "balance.conf");
  if (!config) {
    ADD_FAILURE() << config.error().what;
    return {};
  }
  return *std::move(config);
}

// What is wrong with a configuration.
inline std::string faults_of(const std::string& text) {
  const base::Result<Config> config = parse_config(text, "balance.conf");
  return config ? "" : config.error().what;
}

// The fault that one line behind a good host line has, without the place.
inline std::string fault_of(const std::string& line) {
  const std::string what = faults_of(kOneHost + line + "\n");
  const std::size_t place = what.find(": ");
  return what.empty() ? "" : what.substr(place + 2);
}

inline Request request_of(const RawRequest& raw, const Config& config = config_of()) {
  base::Result<Request> request = parse_request(raw, config);
  if (!request) {
    ADD_FAILURE() << request.error().what;
    return {};
  }
  return *std::move(request);
}

// A GET at the usual place.
inline RawRequest get(std::string_view query) {
  RawRequest raw;
  raw.method = "GET";
  raw.query_string = query;
  raw.request_uri = "/cgi-bin/mapserv";
  raw.script_name = "/cgi-bin/mapserv";
  raw.host = "maps.example.org";
  return raw;
}

inline RawRequest with_method(std::string_view method, std::string_view query = "mode=map") {
  RawRequest raw = get(query);
  raw.method = method;
  return raw;
}

// A GET of the client with this address.
inline RawRequest from(std::string_view address, std::string_view query = "mode=map") {
  RawRequest raw = get(query);
  raw.remote_addr = address;
  return raw;
}

inline Class class_of(const RawRequest& raw, const Config& config = config_of()) {
  return request_of(raw, config).class_;
}
inline Class class_of(std::string_view query) { return class_of(get(query)); }

// The redirect to the first host, as the web server gets it.
inline std::string redirected(const RawRequest& raw, const Config& config = config_of()) {
  const Request request = request_of(raw, config);
  return to_cgi(redirect(request, config.hosts.front(), config, Action::redirect_302), request.method);
}

inline std::string location_of(const RawRequest& raw, const Config& config = config_of()) {
  return location(request_of(raw, config), config.hosts.front());
}

// The value of a header, "(none)" without it; two of them are a fault.
inline std::string header(const Reply& reply, std::string_view name) {
  std::string found = "(none)";
  for (const auto& [key, value] : reply.headers) {
    if (key != name) continue;
    EXPECT_EQ(found, "(none)") << "two headers " << name;
    found = value;
  }
  return found;
}

}  // namespace balance
