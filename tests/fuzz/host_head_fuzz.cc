// SPDX-License-Identifier: MIT
// Whatever a host sends as the head of its answer, what the web server's gateway gets is well-formed: one status, no
// orders, no header that HTTP keeps to one connection, no length that could be doubted. The input is what libcurl hands
// over, line by line.
#include <algorithm>
#include <string>

#include "balance/ground/header_rules.h"
#include "balance/ground/relay_response.h"
#include "loadprobe/base/text.h"
#include "tests/fuzz/fuzz.h"

namespace {

const balance::Config& config() {
  static const balance::Config kConfig = *balance::parse_config(
      "public-url = https://maps.example.org/cgi-bin/mapserv\nhost = pinchot http://pinchot.example.org\n", "x.conf");
  return kConfig;
}

void check_head(const balance::HostHead& head) {
  fuzz::promise(head.status >= 100 && head.status <= 599, "a status is one");
  fuzz::promise(head.headers.size() <= balance::HeadReader::kMostHeaders, "headers are bounded");
  for (const auto& [name, value] : head.headers) {
    fuzz::promise(balance::is_token(name), "a header's name is a token");
    fuzz::promise(balance::is_header_value(value), "a header's value stands on one line");
  }
}

// What no client and no web server may get from a host.
void check_line(std::string_view line) {
  for (const char c : line) {
    fuzz::promise((static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t', "no controls in a head");
  }
  const std::size_t colon = line.find(": ");
  fuzz::promise(colon != std::string_view::npos && colon > 0, "a header has a name");
  const std::string name = base::lower(line.substr(0, colon));
  fuzz::promise(!balance::is_hop_by_hop(name), "what belongs to one connection stays there");
  fuzz::promise(!name.starts_with("x-accel-") && !name.starts_with("x-sendfile") && !name.starts_with("x-lighttpd-"),
                "a host gives the web server no orders");
}

void check_reply(const balance::HostHead& head) {
  const balance::Reply reply = relay_reply(head, config().hosts.front(), config());
  const std::string text = to_cgi(reply, balance::Method::get);
  const std::size_t end = text.find("\r\n\r\n");
  fuzz::promise(text.starts_with("Status: " + std::to_string(head.status)), "an answer has its host's status");
  fuzz::promise(end != std::string::npos && end + 4 == text.size(), "the head's end is the only empty line");
  std::size_t statuses = 0, lengths = 0;
  std::string_view rest = std::string_view(text).substr(0, end);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(std::min(line.size() + 2, rest.size()));
    check_line(line);
    statuses += base::lower(line).starts_with("status:") ? 1 : 0;
    lengths += base::lower(line).starts_with("content-length:") ? 1 : 0;
  }
  fuzz::promise(statuses == 1, "one status");
  fuzz::promise(lengths <= 1, "at most one length");
  fuzz::promise(lengths == 0 || head.content_length.has_value(), "a length that is passed on can be trusted");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  balance::HeadReader reader;
  bool is_refused = false;
  for (const std::string_view line : base::split(fuzz::text_of(bytes, size), '\n')) {
    const base::Status taken = reader.add(line);
    if (is_refused) fuzz::promise(!taken, "nothing is taken after a fault");
    if (!taken) {
      fuzz::promise(!taken.error().what.empty(), "a fault is named");
      for (const char c : taken.error().what) fuzz::promise(static_cast<unsigned char>(c) >= ' ', "and can be printed");
      is_refused = true;
      continue;
    }
    if (!reader.is_whole()) continue;
    check_head(reader.head());
    if (!reader.is_interim()) check_reply(reader.head());
  }
  return 0;
}
