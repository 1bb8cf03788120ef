// SPDX-License-Identifier: MIT
// balance: the CGI and FastCGI front. Started by a web server its arguments mean nothing, since a query without '='
// comes as an argument (RFC 3875 4.4); by hand it takes the options below.
// Floor 4.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balance/front/front.h"
#include "balance/front/gateway.h"
#include "balance/front/listen.h"
#include "balance/ground/reply.h"
#include "balance/table/config_file.h"
#include "loadprobe/base/log.h"

#ifndef VERSION
#define VERSION "0.1"
#endif

namespace {

constexpr int kFine = 0, kFailed = 1, kBadUsage = 2;

constexpr std::string_view kHelp =
    "usage: balance --listen unix:PATH|ADDRESS:PORT\n"
    "       balance --check | --help | --version\n"
    "\n"
    "Sends each map request to the least busy of several MapServer hosts. A web server starts it as a CGI or\n"
    "FastCGI program, without options; BALANCE_CONFIG in the environment names the configuration.\n"
    "\n"
    "  --listen WHERE  serve FastCGI on a socket of its own: unix:/run/balance/front.sock or 127.0.0.1:9000\n"
    "  --check         read the configuration, list its faults, and leave\n"
    "  --help          this\n"
    "  --version       the version\n";

int print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? kFine : kFailed;
}

int complain(const base::Error& error) {
  std::fprintf(stderr, "balance: %s\n", error.what.c_str());
  return error.fault == base::Fault::usage ? kBadUsage : kFailed;
}

int bad_usage(const std::string& what) {
  std::fprintf(stderr, "balance: %s\n%s", what.c_str(), std::string(kHelp).c_str());
  return kBadUsage;
}

std::string config_file() { return balance::config_file_named("", std::getenv("BALANCE_CONFIG")); }

int check() {
  const base::Result<balance::ConfigFile> file = balance::Front::read(config_file());
  if (!file) return complain(file.error());
  const std::size_t hosts = file->config().hosts.size();
  return print(file->config().file + ": fine, " + std::to_string(hosts) + (hosts == 1 ? " host\n" : " hosts\n"));
}

int answer_one_request() {
  base::Result<balance::ConfigFile> file = balance::Front::read(config_file());
  if (!file) {
    const balance::RawRequest raw = balance::raw_request(environ);
    balance::Request request;
    request.query = raw.query_string;
    request.path_info = raw.path_info;
    request.content_type = raw.content_type;
    const balance::Reply reply = balance::unavailable(
        request, balance::Config{},
        "The balancer's configuration cannot be used. The web server's error log says what is wrong with it.");
    if (const base::Status told = balance::answer_cgi(balance::to_cgi(reply, balance::Method::get), environ); !told) {
      return complain(told.error());
    }
    return complain(file.error());
  }
  balance::Front front(*std::move(file), balance::Gateway::cgi);
  front.wait_for_first_reports();
  const base::Status told = balance::answer_cgi(front.respond(environ), environ);
  return told ? kFine : complain(told.error());
}

// Threads that did not finish in time may still be at work: nothing of theirs is destroyed.
[[noreturn]] void leave(int status, const std::string& socket_file) {
  if (!socket_file.empty()) unlink(socket_file.c_str());
  std::fflush(nullptr);
  _exit(status);
}

[[noreturn]] void serve(int listening, const std::string& socket_file) {
  base::Result<balance::ConfigFile> file = balance::Front::read(config_file());
  if (!file) leave(complain(file.error()), socket_file);
  base::Result<std::vector<base::Address>> web_servers = balance::web_servers_of(std::getenv("FCGI_WEB_SERVER_ADDRS"));
  if (!web_servers) leave(complain(web_servers.error()), socket_file);
  balance::Front front(*std::move(file), balance::Gateway::fastcgi);
  balance::FastCgi how;
  how.web_servers = *std::move(web_servers);
  how.listening = listening;
  how.most_connections = front.max_connections();
  how.look_again = [&front] { front.reload(); };
  const base::Status served =
      balance::serve_fastcgi(how, [&front](const char* const* variables) { return front.respond(variables); });
  leave(served ? kFine : complain(served.error()), socket_file);
}

int serve_at(std::string_view where) {
  balance::hold_signals();
  const base::Result<balance::Listener> listener = balance::listen_on(where);
  if (!listener) return complain(listener.error());
  if (listener->is_reachable_by_others) {
    base::log(base::Level::warning, "others can reach this FastCGI socket and forge requests; use loopback or unix:",
              {{"listen", std::string(where)}});
  }
  serve(listener->socket.get(), listener->unix_path);
}

int by_hand(const std::vector<std::string_view>& arguments) {
  if (arguments.empty()) return bad_usage("no web server started this, and no option says what to do");
  const std::string_view first = arguments.front();
  if (first == "--listen") {
    return arguments.size() == 2 ? serve_at(arguments[1]) : bad_usage("--listen takes one unix:PATH or ADDRESS:PORT");
  }
  constexpr std::string_view kListenIs = "--listen=";
  if (arguments.size() == 1 && first.substr(0, kListenIs.size()) == kListenIs) {
    return serve_at(first.substr(kListenIs.size()));
  }
  if (arguments.size() == 1 && first == "--check") return check();
  if (arguments.size() == 1 && first == "--help") return print(kHelp);
  if (arguments.size() == 1 && first == "--version") return print("balance " VERSION "\n");
  return bad_usage("unknown or surplus argument '" + std::string(arguments.back()) + "'");
}

bool is_cgi() { return std::getenv("GATEWAY_INTERFACE") != nullptr || std::getenv("REQUEST_METHOD") != nullptr; }

}  // namespace

int main(int argc, char** argv) {
  base::log_as("balance");
  if (balance::is_fastcgi()) serve(STDIN_FILENO, "");
  if (is_cgi()) return answer_one_request();
  return by_hand({argv + (argc > 0 ? 1 : 0), argv + argc});
}
