// SPDX-License-Identifier: MIT
#include "balance/front/program.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "balance/front/front.h"
#include "balance/front/gateway.h"
#include "balance/front/listen.h"
#include "balance/ground/reply.h"
#include "balance/table/config_file.h"
#include "balance/table/launch.h"
#include "balance/table/used_config.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/log.h"

#ifndef VERSION
#define VERSION "0.1"
#endif

namespace balance {
namespace {

constexpr int kFine = 0, kFailed = 1, kBadUsage = 2;
constexpr std::string_view kBalance = "balance";

constexpr std::string_view kHelp =
    " --check | --help | --version\n"
    "\n"
    "Sends each map request to the least busy of several MapServer hosts. A web server starts it as a CGI or\n"
    "FastCGI program, without options; BALANCE_CONFIG in the environment names the configuration. Where requests\n"
    "have to be relayed it becomes balance-relay, which takes the same options.\n"
    "\n"
    "  --listen WHERE  serve FastCGI on a socket of its own: unix:/run/balance/front.sock or 127.0.0.1:9000\n"
    "  --check         read the configuration, list its faults, and leave\n"
    "  --help          this\n"
    "  --version       the version\n";

int print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? kFine : kFailed;
}

// "" where the caller left even that out.
std::string_view base_name(const char* path) {
  const std::string_view whole = path != nullptr ? path : "";
  return whole.substr(whole.rfind('/') + 1);
}

std::string config_file() { return config_file_named("", std::getenv("BALANCE_CONFIG")); }

// Threads that did not finish in time may still be at work: nothing of theirs is destroyed.
[[noreturn]] void leave(int status, const std::string& socket_file) {
  if (!socket_file.empty()) unlink(socket_file.c_str());
  std::fflush(nullptr);
  _exit(status);
}

class Running {
 public:
  Running(const Program& program, char** argv) : program_(program), argv_(argv) {}

  int by_itself();
  int as_cgi();
  // Descriptor 0 is the listening socket.
  [[noreturn]] void as_fastcgi() {
    base::Result<ConfigFile> file = readied(ConfigFile::open_or_used(config_file(), base::now()));
    if (!file) leave(complain(file.error()), "");
    if (file->is_faulty()) Front::tell_of_faults(file->error());
    tell_of_start("descriptor 0", file->config());
    serve(STDIN_FILENO, *std::move(file), "");
  }

 private:
  int complain(const base::Error& error) const {
    std::fprintf(stderr, "%s: %s\n", name().c_str(), error.what.c_str());
    return error.fault == base::Fault::usage ? kBadUsage : kFailed;
  }
  void tell_of_start(const std::string& listening, const Config& config) const;
  std::string name() const { return std::string(program_.name); }
  std::string help() const {
    return "usage: " + name() + " --listen unix:PATH|ADDRESS:PORT\n       " + name() + std::string(kHelp);
  }
  int bad_usage(const std::string& what) const {
    std::fprintf(stderr, "%s: %s\n%s", name().c_str(), what.c_str(), help().c_str());
    return kBadUsage;
  }
  int check() const;
  int serve_at(std::string_view where);
  base::Result<ConfigFile> readied(base::Result<ConfigFile> file);
  void become_the_one_that_relays();
  [[noreturn]] void serve(int listening, ConfigFile file, const std::string& socket_file);
  base::Result<std::unique_ptr<Relayer>> relayer() const {
    if (program_.make_relayer != nullptr) return program_.make_relayer();
    return std::unique_ptr<Relayer>();
  }

  const Program& program_;
  char** const argv_;
};

// Back only if that is not installed. Descriptors 0 to 2 and the environment go along, and nothing was read from them;
// the other program never does the same.
void Running::become_the_one_that_relays() {
  const std::string path = program_beside_us("balance-relay");
  std::string called = base_name(argv_[0]) == name() ? argv_[0] : name();  // by which it goes on: see run()
  std::vector<char*> arguments{called.data()};
  for (char** argument = argv_; *argument != nullptr; ++argument) {
    if (argument != argv_) arguments.push_back(*argument);
  }
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
}

void Running::tell_of_start(const std::string& listening, const Config& config) const {
  base::log(base::Level::info, "serving",
            {{"listen", listening},
             {"config", config.file},
             {"hosts", std::to_string(config.hosts.size())},
             {"mode", std::string(name_of(config.mode))},
             {"relays", program_.make_relayer != nullptr ? "yes" : "no"},
             {"max-connections", std::to_string(config.max_connections)}});
}

base::Result<ConfigFile> Running::readied(base::Result<ConfigFile> file) {
  if (!file || program_.make_relayer != nullptr || !ever_relays(file->config())) return file;
  become_the_one_that_relays();
  base::log(base::Level::warning,
            "balance-relay is not installed beside balance: requests that only it can answer get 503");
  return file;
}

// A process a request would fill the error log.
void tell_at_times(const ConfigFile& file) {
  const base::Result<StateFiles> files = find_state(file.config().state_dir, file.config().file);
  if (!files || is_time_to_tell(*files, base::wall_time())) Front::tell_of_faults(file.error());
}

int Running::check() const {
  const base::Result<ConfigFile> file = Front::read(config_file());
  if (!file) return complain(file.error());
  const std::size_t hosts = file->config().hosts.size();
  return print(file->config().file + ": fine, " + std::to_string(hosts) + (hosts == 1 ? " host\n" : " hosts\n"));
}

int Running::as_cgi() {
  base::Result<ConfigFile> file = ConfigFile::open_or_used(config_file(), base::now());
  if (!file) {
    const int status = complain(file.error());  // before the answer: lighttpd ends a program that has answered
    const RawRequest raw = raw_request(environ);
    Request request;
    request.query = raw.query_string;
    request.path_info = raw.path_info;
    request.content_type = raw.content_type;
    const Reply reply = unavailable(
        request, Config{},
        "The balancer's configuration cannot be used. The web server's error log says what is wrong with it.");
    const base::Status told =
        serve_cgi(environ, [&reply](Exchange& exchange) { (void)exchange.write(to_cgi(reply, Method::get)); });
    return told ? status : complain(told.error());
  }
  if (file->is_faulty()) tell_at_times(*file);
  base::Result<std::unique_ptr<Relayer>> relayer = this->relayer();
  if (!relayer) return complain(relayer.error());
  std::function<void()> hand_over;
  if (!*relayer) hand_over = [this] { become_the_one_that_relays(); };
  Front front(*std::move(file), Gateway::cgi, relayer->get(), std::move(hand_over));
  front.wait_for_first_reports();
  const base::Status told = serve_cgi(environ, [&front](Exchange& exchange) { front.respond(exchange); });
  return told ? kFine : complain(told.error());
}

void Running::serve(int listening, ConfigFile file, const std::string& socket_file) {
  base::Result<std::vector<base::Address>> web_servers = web_servers_of(std::getenv("FCGI_WEB_SERVER_ADDRS"));
  if (!web_servers) leave(complain(web_servers.error()), socket_file);
  base::Result<std::unique_ptr<Relayer>> relayer = this->relayer();
  if (!relayer) leave(complain(relayer.error()), socket_file);
  Front front(std::move(file), Gateway::fastcgi, relayer->get());
  FastCgi how;
  how.web_servers = *std::move(web_servers);
  how.listening = listening;
  how.most_connections = front.config().max_connections;
  how.all_wait = relays_all(front.config());
  how.look_again = [&front] { front.reload(); };
  const base::Status served = serve_fastcgi(how, [&front](Exchange& exchange) { front.respond(exchange); });
  leave(served ? kFine : complain(served.error()), socket_file);
}

int Running::serve_at(std::string_view where) {
  // Who starts it by hand, or a service, is there to read what is wrong.
  base::Result<ConfigFile> file = readied(Front::read(config_file()));
  if (!file) return complain(file.error());
  hold_signals();
  const base::Result<Listener> listener = listen_on(where);
  if (!listener) return complain(listener.error());
  if (listener->is_reachable_by_others) {
    base::log(base::Level::warning, "others can reach this FastCGI socket and forge requests; use loopback or unix:",
              {{"listen", std::string(where)}});
  }
  tell_of_start(std::string(where), file->config());
  serve(listener->socket.get(), *std::move(file), listener->unix_path);
}

int Running::by_itself() {
  std::vector<std::string_view> arguments;
  for (char** argument = argv_; *argument != nullptr; ++argument) {
    if (argument != argv_) arguments.emplace_back(*argument);
  }
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
  if (arguments.size() == 1 && first == "--help") return print(help());
  if (arguments.size() == 1 && first == "--version") return print(name() + " " VERSION "\n");
  return bad_usage("unknown or surplus argument '" + std::string(arguments.back()) + "'");
}

bool is_cgi() { return std::getenv("GATEWAY_INTERFACE") != nullptr || std::getenv("REQUEST_METHOD") != nullptr; }

}  // namespace

int run(const Program& as_built, char** argv) {
  base::keep_standard_descriptors();
  // What balance became speaks with the name by which it was started.
  Program program = as_built;
  if (base_name(argv[0]) == kBalance) program.name = kBalance;
  base::log_as(program.name);
  Running running(program, argv);
  if (is_fastcgi()) running.as_fastcgi();
  return is_cgi() ? running.as_cgi() : running.by_itself();
}

}  // namespace balance
