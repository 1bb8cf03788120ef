// SPDX-License-Identifier: MIT
// Numeric network addresses and ranges of them. No name is ever looked up here.
// Floor 1: pure functions, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/result.h"

namespace base {

// An IPv4 or IPv6 address as 16 bytes; IPv4 is kept as ::ffff:a.b.c.d (RFC 4291 2.5.5.2), so both families compare.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  bool is_ipv4() const;
  friend bool operator==(const Address&, const Address&) = default;
};

// '192.0.2.1', '2001:db8::7', '::ffff:192.0.2.1' or '[2001:db8::7]'; zone ids ('%eth0') and anything else: nothing.
std::optional<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);

// A range of addresses, '10.0.0.0/8' or '2001:db8::/32'; a bare address is a range of one.
struct Cidr {
  Address network;
  int prefix_bits = 128;  // of the 16 bytes
};
Result<Cidr> parse_cidr(std::string_view text);
bool contains(const Cidr& range, const Address& address);
bool contains(const std::vector<Cidr>& ranges, const Address& address);

// Loopback, private and link-local ranges of both families (RFC 1918, 4193, 3927, 4291).
std::vector<Cidr> local_networks();

struct Endpoint {  // where to listen
  Address address;
  std::uint16_t port = 0;
};
// '[::]:9719', '127.0.0.1:9719'. Numeric only.
Result<Endpoint> parse_endpoint(std::string_view text);

}  // namespace base
