// SPDX-License-Identifier: MIT
// Whatever a client and a web server say, every answer is well-formed and a redirect leads to a configured host.
// The input is CGI variables, one a line.
#include <string>
#include <vector>

#include "balance/ground/reply.h"
#include "balance/ground/request.h"
#include "balance/ground/sticky.h"
#include "loadprobe/base/text.h"
#include "tests/fuzz/fuzz.h"

namespace {

const balance::Config& config() {
  static const balance::Config kConfig = *balance::parse_config(
      "public-url = https://maps.example.org/cgi-bin/mapserv\n"
      "artifact-prefixes = /tmp/\n"
      "trusted-proxies = 192.0.2.0/24\n"
      "sticky = cookie\n"
      "host = pinchot http://pinchot.example.org:8080\n"
      "host = leopold https://leopold.example.org inside=http://10.0.0.12:8080 script=/fcgi/mapserv weight=2\n"
      "host = capra https://[2001:db8::7] backup\n"
      "host = audubon inside-only=http://10.0.0.15\n",
      "x.conf");
  return kConfig;
}

// Header lines without controls, an empty line, the body.
void check_form(const std::string& text) {
  const std::size_t end = text.find("\r\n\r\n");
  fuzz::promise(text.starts_with("Status: ") && end != std::string::npos, "an answer has a head");
  std::string_view rest = std::string_view(text).substr(0, end);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(std::min(line.size() + 2, rest.size()));
    fuzz::promise(line.find(": ") != std::string_view::npos, "a header has a name and a value");
    for (const char c : line)
      fuzz::promise(static_cast<unsigned char>(c) >= ' ' && c != '\x7f', "no controls in a head");
  }
}

void check_redirect(const balance::Request& request, const balance::HostConfig& host, balance::Action action) {
  if (balance::target_of(request, host, config()) != balance::Target::fit) return;
  fuzz::promise(host.public_url.has_value(), "a redirect leads to a public URL");
  // A picture of a page has a path of its own; all else goes to the script.
  const bool artifact = request.class_ == balance::Class::artifact;
  const std::string wanted = balance::to_text(*host.public_url) + (artifact ? "" : host.script);
  const std::string location = balance::location(request, host);
  fuzz::promise(location.starts_with(wanted), "a redirect leads to a configured host");
  for (const char c : location)
    fuzz::promise(c > ' ' && c != '\x7f', "a Location has no white space and no bare bytes");
  const char behind = location.size() > wanted.size() ? location[wanted.size()] : '?';
  fuzz::promise(behind == '?' || behind == '/', "nothing is added to the name of a host or script");
  check_form(to_cgi(balance::redirect(request, host, config(), action), request.method));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::vector<std::string> variables;
  for (const std::string_view line : base::split(fuzz::text_of(bytes, size), '\n')) {
    variables.emplace_back(line.substr(0, line.find('\0')));
  }
  std::vector<const char*> environment;
  for (const std::string& variable : variables) environment.push_back(variable.c_str());
  environment.push_back(nullptr);

  const balance::RawRequest raw = balance::raw_request(environment.data());
  const auto request = balance::parse_request(raw, config());
  if (!request) {
    check_form(to_cgi(bad_request(config(), format_of(raw), request.error().what), balance::Method::get));
    return 0;
  }
  fuzz::promise(!request->why.empty(), "a class has a reason");
  for (const balance::HostConfig& host : config().hosts) {
    check_redirect(*request, host, balance::Action::redirect_302);
    check_redirect(*request, host, balance::Action::redirect_307);
  }
  const std::size_t own = request->cookie_host.value_or(0);
  fuzz::promise(own < config().hosts.size(), "a cookie names a host of ours, or none");
  balance::Reply kept = loop_detected(*request, config());
  keep_by_cookie(kept, *request, config(), own);
  check_form(to_cgi(kept, request->method));
  check_form(to_cgi(options_reply(*request, config()), request->method));
  check_form(to_cgi(unavailable(*request, config(), "no host"), request->method));
  check_form(to_cgi(loop_detected(*request, config()), request->method));
  return 0;
}
