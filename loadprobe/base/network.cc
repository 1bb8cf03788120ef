// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "loadprobe/base/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "loadprobe/base/text.h"

namespace base {
namespace {

constexpr std::array<std::uint8_t, 12> kIpv4Prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr int kIpv4PrefixBits = 96;

// The address with everything behind its first `bits` set to zero.
Address masked(Address address, int bits) {
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(bits - 8 * i, 0, 8);
    const auto mask = static_cast<std::uint8_t>(0xFF00 >> kept);
    address.bytes[static_cast<std::size_t>(i)] &= mask;
  }
  return address;
}

Error no_cidr(std::string_view text) {
  return Error{Fault::usage, "'" + escaped(text) +
                                 "' is no range of addresses; wanted one as in '10.0.0.0/8' or "
                                 "'2001:db8::/32'"};
}

Cidr known_range(std::string_view text) { return *parse_cidr(text); }

}  // namespace

bool Address::is_ipv4() const { return std::equal(kIpv4Prefix.begin(), kIpv4Prefix.end(), bytes.begin()); }

std::optional<Address> parse_address(std::string_view text) {
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (bracketed) text = text.substr(1, text.size() - 2);
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  std::ranges::copy(text, terminated.begin());
  Address address;
  if (text.find(':') != std::string_view::npos) {
    return inet_pton(AF_INET6, terminated.data(), address.bytes.data()) == 1 ? std::optional(address) : std::nullopt;
  }
  if (bracketed || inet_pton(AF_INET, terminated.data(), address.bytes.data() + kIpv4Prefix.size()) != 1) {
    return std::nullopt;
  }
  std::ranges::copy(kIpv4Prefix, address.bytes.begin());
  return address;
}

std::string to_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const bool ipv4 = address.is_ipv4();
  const std::uint8_t* bytes = address.bytes.data() + (ipv4 ? kIpv4Prefix.size() : 0);
  inet_ntop(ipv4 ? AF_INET : AF_INET6, bytes, buffer.data(), static_cast<socklen_t>(buffer.size()));
  return std::string(buffer.data());
}

Result<Cidr> parse_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view address_text = text.substr(0, slash);
  const std::optional<Address> address = parse_address(address_text);
  if (!address || address_text.front() == '[') return no_cidr(text);
  if (slash == std::string_view::npos) return Cidr{*address, 128};

  const bool dotted = address_text.find(':') == std::string_view::npos;
  const std::optional<std::uint64_t> prefix = whole_number(text.substr(slash + 1));
  if (!prefix || *prefix > (dotted ? 32U : 128U)) return no_cidr(text);
  const Cidr range{*address, static_cast<int>(*prefix) + (dotted ? kIpv4PrefixBits : 0)};
  const Address network = masked(range.network, range.prefix_bits);
  if (network == range.network) return range;
  return Error{Fault::usage, "'" + escaped(text) + "' has bits set behind its prefix; wanted '" + to_text(network) +
                                 "/" + std::to_string(*prefix) + "' or a single address"};
}

bool contains(const Cidr& range, const Address& address) {
  return masked(address, range.prefix_bits) == masked(range.network, range.prefix_bits);
}

bool contains(const std::vector<Cidr>& ranges, const Address& address) {
  return std::ranges::any_of(ranges, [&](const Cidr& range) { return contains(range, address); });
}

std::vector<Cidr> local_networks() {
  return {known_range("127.0.0.0/8"),    known_range("::1"),      known_range("10.0.0.0/8"),
          known_range("172.16.0.0/12"),  known_range("fc00::/7"), known_range("192.168.0.0/16"),
          known_range("169.254.0.0/16"), known_range("fe80::/10")};
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const Error unreadable{Fault::usage, "'" + escaped(text) +
                                           "' is no address to listen at; wanted a numeric address and " +
                                           "a port, as in '127.0.0.1:9719' or '[::]:9719'"};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return unreadable;
  const std::string_view address_text = text.substr(0, colon);
  const std::optional<Address> address = parse_address(address_text);
  const std::optional<std::uint64_t> port = whole_number(text.substr(colon + 1));
  // Without brackets nobody could tell where an IPv6 address ends and its port begins.
  const bool bare_ipv6 = address_text.find(':') != std::string_view::npos && address_text.front() != '[';
  if (!address || bare_ipv6 || !port || *port > 65535) return unreadable;
  return Endpoint{*address, static_cast<std::uint16_t>(*port)};
}

}  // namespace base
