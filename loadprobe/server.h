// SPDX-License-Identifier: MIT
// The HTTP server: connections in, questions to the handler, replies out. libmicrohttpd is behind it.
// Floor 3. One thread: whoever owns it calls turn() again and again.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "loadprobe/answer.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"

struct MHD_Daemon;

namespace loadprobe {

struct Reply {
  unsigned status = 200;
  std::string content_type;
  std::string body;
};

class Server {
 public:
  // At most this many connections, each with 8 KB for its request line and headers and 30 s of silence.
  static constexpr unsigned kMostConnections = 128;

  // `question.admission` is not set: who may ask is for the handler to say.
  using Handler = std::function<Reply(const Question& question, const base::Address& peer)>;

  static base::Result<std::unique_ptr<Server>> start(Handler handler);

  // Takes over an accepted connection; closes it if there is no room.
  void take(base::Fd connection);
  unsigned connections() const;

  // Waits until a connection has something to do or one of `others` is readable, at most `most` (nothing: for ever),
  // and does what there is to do on the connections.
  base::Status turn(std::span<const int> others, std::optional<std::chrono::milliseconds> most);

  const Handler& handler() const { return handler_; }

 private:
  struct Stop {
    void operator()(MHD_Daemon* daemon) const;
  };
  explicit Server(Handler handler) : handler_(std::move(handler)) {}

  Handler handler_;
  std::unique_ptr<MHD_Daemon, Stop> daemon_;
};

}  // namespace loadprobe
