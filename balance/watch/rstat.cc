// SPDX-License-Identifier: MIT
// See rstat.h. All of XDR (RFC 4506) that is needed are big-endian 32-bit words.
#include "balance/watch/rstat.h"

#include <array>
#include <cstddef>
#include <optional>

namespace balance {
namespace {

constexpr std::uint32_t kCall = 0, kReply = 1;
constexpr std::uint32_t kRpcVersion = 2;
constexpr std::uint32_t kPortMapper = 100000, kPortMapperVersion = 2, kGetPort = 3;
constexpr std::uint32_t kRstat = 100001, kRstatVersion = 3, kStats = 1;
constexpr std::uint32_t kUdp = 17;
constexpr std::uint32_t kMostVerifierBytes = 400;  // RFC 5531 8.2

// Places in struct statstime, in words.
constexpr std::size_t kLoads = 18, kBootSeconds = 21, kStatsWords = 26;
constexpr double kLoadUnit = 256;  // avenrun is fixed point, FSHIFT 8

void append(std::string& to, std::uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>((word >> shift) & 0xff));
}

std::string call(std::uint32_t xid, std::uint32_t program, std::uint32_t version, std::uint32_t procedure) {
  std::string out;
  for (const std::uint32_t word : {xid, kCall, kRpcVersion, program, version, procedure}) append(out, word);
  out.append(16, '\0');  // credentials and verifier: AUTH_NONE, no bytes
  return out;
}

std::optional<std::uint32_t> word_at(std::string_view bytes, std::size_t offset) {
  if (bytes.size() < 4 || offset > bytes.size() - 4) return std::nullopt;
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = (word << 8) | static_cast<unsigned char>(bytes[offset + i]);
  return word;
}

base::Error cut_short(std::string_view datagram) {
  return {base::Fault::input, "RPC answer cut short after " + std::to_string(datagram.size()) + " bytes"};
}

base::Error refused(std::uint32_t status) {
  constexpr std::array<const char*, 6> kReasons = {"success",
                                                   "the program is not served there",
                                                   "version 3 is not served there",
                                                   "the procedure is not served there",
                                                   "the call was not understood",
                                                   "the server failed"};
  const std::string reason = status < kReasons.size() ? kReasons[status] : "status " + std::to_string(status);
  return {base::Fault::input, "RPC answer: " + reason};
}

// What follows the head of an accepted, successful reply.
base::Result<std::string_view> results(std::string_view datagram) {
  const auto type = word_at(datagram, 4), state = word_at(datagram, 8);
  if (!type || !state) return cut_short(datagram);
  if (*type != kReply) return base::Error{base::Fault::input, "RPC message is no answer"};
  if (*state != 0) return base::Error{base::Fault::input, "RPC call denied"};
  const auto verifier_bytes = word_at(datagram, 16);
  if (!verifier_bytes) return cut_short(datagram);
  if (*verifier_bytes > kMostVerifierBytes) {
    return base::Error{base::Fault::input, "RPC answer: verifier of " + std::to_string(*verifier_bytes) + " bytes"};
  }
  const std::size_t status_at = 20 + (*verifier_bytes + 3) / 4 * 4;  // opaque bytes are padded to words
  const auto status = word_at(datagram, status_at);
  if (!status) return cut_short(datagram);
  if (*status != 0) return refused(*status);
  return datagram.substr(status_at + 4);
}

}  // namespace

std::string stats_call(std::uint32_t xid) { return call(xid, kRstat, kRstatVersion, kStats); }

std::string getport_call(std::uint32_t xid) {
  std::string out = call(xid, kPortMapper, kPortMapperVersion, kGetPort);
  for (const std::uint32_t word : {kRstat, kRstatVersion, kUdp, std::uint32_t{0}}) append(out, word);
  return out;
}

bool answers(std::string_view datagram, std::uint32_t xid) {
  return word_at(datagram, 0) == xid && word_at(datagram, 4) == kReply;
}

base::Result<loadprobe::Report> parse_stats(std::string_view datagram) {
  const base::Result<std::string_view> body = results(datagram);
  if (!body) return body.error();
  if (body->size() < kStatsWords * 4) return cut_short(datagram);
  std::array<double, 3> loads{};
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto fixed = static_cast<std::int32_t>(*word_at(*body, (kLoads + i) * 4));
    loads[i] = fixed / kLoadUnit;
    if (loads[i] < 0 || loads[i] > 1e6) {
      return base::Error{base::Fault::input, "load average is " + std::to_string(fixed) + "/256; wanted 0 to 1000000"};
    }
  }
  loadprobe::Report report;
  report.load1 = loads[0];
  report.load5 = loads[1];
  report.load15 = loads[2];
  const std::uint32_t boot = *word_at(*body, kBootSeconds * 4);
  if (boot != 0) report.boot_time = boot;
  return report;
}

base::Result<std::uint16_t> parse_getport(std::string_view datagram) {
  const base::Result<std::string_view> body = results(datagram);
  if (!body) return body.error();
  const auto port = word_at(*body, 0);
  if (!port) return cut_short(datagram);
  if (*port == 0) return base::Error{base::Fault::unavailable, "rstatd version 3 is not registered"};
  if (*port > 65535) {
    return base::Error{base::Fault::input, "port mapper says port " + std::to_string(*port) + "; wanted 1 to 65535"};
  }
  return static_cast<std::uint16_t>(*port);
}

}  // namespace balance
