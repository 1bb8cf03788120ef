// SPDX-License-Identifier: MIT
// Floor 3.
#include "loadprobe/daemon.h"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "loadprobe/base/clock.h"
#include "loadprobe/base/log.h"
#include "loadprobe/base/text.h"
#include "loadprobe/listener.h"
#include "loadprobe/server.h"

namespace loadprobe {
namespace {

using base::Level;
using base::Result;
using base::Status;

// The load averages of a group want samples when nobody asks, as often as the kernel takes its own.
constexpr std::chrono::milliseconds kGroupTick{5000};
// How long to leave the door shut when the system has no descriptor or memory for another connection.
constexpr std::chrono::milliseconds kAcceptPause{1000};

Result<base::Fd> signals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int one : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, one);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return base::system_error("cannot block signals");
  base::Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return base::system_error("cannot wait for signals");
  return fd;
}

Result<std::vector<Listener>> open_all(const std::vector<base::Endpoint>& places) {
  std::vector<Listener> listeners;
  for (const base::Endpoint& place : places) {
    Result<Listener> listener = listen_at(place);
    if (!listener) return listener.error();
    if (listener->place.address == place.address) {
      base::log(Level::info, "listening", {{"at", to_text(listener->place)}});
    } else {
      base::log(Level::warning, "no IPv6 here; listening for IPv4 alone", {{"at", to_text(listener->place)}});
    }
    listeners.push_back(*std::move(listener));
  }
  return listeners;
}

class Loop {
 public:
  Loop(ProbeConfig config, const Teller& teller) : config_(std::move(config)), probe_(Mounts{}, config_, teller) {}

  Status start() {
    Result<base::Fd> fd = signals();
    if (!fd) return fd.error();
    signals_ = *std::move(fd);
    Result<std::vector<Listener>> listeners = open_all(config_.listen);
    if (!listeners) return listeners.error();
    listeners_ = *std::move(listeners);
    Result<std::unique_ptr<Server>> server = Server::start([this](const Question& question, const base::Address& peer) {
      return probe_.reply(question, peer, base::now());
    });
    if (!server) return server.error();
    server_ = *std::move(server);
    probe_.page(base::now());  // names what is missing before anybody asks
    return base::ok();
  }

  Status run(const std::function<Result<ProbeConfig>()>& reload) {
    for (;;) {
      if (const Status waited = wait(); !waited) return waited;
      signalfd_siginfo signal{};
      while (::read(signals_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
        if (signal.ssi_signo != SIGHUP) {
          base::log(Level::info, "stopped");
          return base::ok();
        }
        take_up(reload());
      }
      accept_all();
      if (config_.scope.kind != Scope::Kind::host) probe_.page(base::now());
    }
  }

 private:
  bool has_room() const {
    return server_->connections() < Server::kMostConnections && base::now() - refused_ >= kAcceptPause;
  }

  Status wait() {
    std::vector<int> doors{signals_.get()};
    std::optional<std::chrono::milliseconds> most;
    if (config_.scope.kind != Scope::Kind::host) most = kGroupTick;
    if (has_room()) {
      for (const Listener& listener : listeners_) doors.push_back(listener.socket.get());
    } else {
      most = std::min(most.value_or(kAcceptPause), kAcceptPause);
    }
    return server_->turn(doors, most);
  }

  void accept_all() {
    for (const Listener& listener : listeners_) {
      while (has_room()) {
        sockaddr_storage peer{};
        socklen_t size = sizeof peer;
        auto* address = reinterpret_cast<sockaddr*>(&peer);
        base::Fd connection(::accept4(listener.socket.get(), address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (connection) {
          admit(std::move(connection), address_of(*address));
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          refused_ = base::now();
        } else if (errno != ECONNABORTED && errno != EINTR) {
          break;
        }
      }
    }
  }

  // Whoever is not allowed gets a 403, but may not fill the room of those who are.
  void admit(base::Fd connection, const base::Address& peer) {
    const bool crowded = server_->connections() >= Server::kMostConnections / 2;
    if (crowded && !base::contains(config_.allow, peer)) return;
    server_->take(std::move(connection));
  }

  void take_up(Result<ProbeConfig> config) {
    if (!config) {
      log_faults(config.error());
      base::log(Level::warning, "the faulty configuration is not taken up; the old one holds");
      return;
    }
    const auto same = [](const base::Endpoint& a, const base::Endpoint& b) {
      return a.address == b.address && a.port == b.port;
    };
    if (!std::ranges::equal(config->listen, config_.listen, same)) {
      base::log(Level::warning, "another 'listen' needs a restart; the old one holds");
    }
    std::vector<base::Endpoint> listen = std::move(config_.listen);
    config_ = *std::move(config);
    config_.listen = std::move(listen);
    probe_.follow(config_);
    base::log(Level::info, "configuration read again");
  }

  ProbeConfig config_;
  Probe probe_;
  base::Fd signals_;
  std::vector<Listener> listeners_;
  std::unique_ptr<Server> server_;  // last: its handler uses the probe
  base::Instant refused_ = base::kNever;
};

}  // namespace

Status serve(const ProbeConfig& config, const Teller& teller, const std::function<Result<ProbeConfig>()>& reload) {
  Loop loop(config, teller);
  if (Status started = loop.start(); !started) return started;
  return loop.run(reload);
}

void log_faults(const base::Error& error) {
  for (const std::string_view line : base::split(error.what, '\n')) base::log(Level::error, line);
}

}  // namespace loadprobe
