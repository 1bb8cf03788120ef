// SPDX-License-Identifier: MIT
// fork, fork again, exec.
#include "balance/table/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <optional>

#include "balance/table/lease.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

// The mark holds the instant of the last start. One of the future is of another boot.
bool is_recent(int fd, base::Instant now) {
  std::array<char, 40> text{};
  const ssize_t length = pread(fd, text.data(), text.size(), 0);
  if (length <= 0) return false;
  const std::optional<double> at = base::number(base::trim({text.data(), static_cast<std::size_t>(length)}));
  const double seconds = now.time_since_epoch().count();
  return at && *at <= seconds && seconds - *at < 1;
}

base::Status write_mark(int fd, const std::string& path, base::Instant now) {
  const std::string text = base::to_text(now.time_since_epoch().count()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return base::system_error("cannot write " + path);
  }
  return base::ok();
}

// From here to exec only what may be called after a fork of a program with threads.

void close_all() {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 0U, ~0U, 0U) == 0) return;
#endif
  rlimit limit = {};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  const int most = known && limit.rlim_cur < 65536 ? static_cast<int>(limit.rlim_cur) : 65536;
  for (int fd = 0; fd < most; ++fd) close(fd);
}

[[noreturn]] void become(const char* program, char* const* arguments) {
  // A descriptor left open would keep the client's connection or the web server's pipe open as long as we live.
  close_all();
  if (open("/dev/null", O_RDWR) != 0 || dup2(0, 1) < 0 || dup2(0, 2) < 0) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int ignored : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGCHLD}) signal(ignored, SIG_DFL);
  if (chdir("/") != 0) _exit(127);
  // Not the environment of a CGI program: HTTP_PROXY in it is what some client sent.
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* const environment[] = {path, nullptr};
  execve(program, arguments, environment);
  _exit(127);
}

base::Status start_detached(const std::string& program, std::array<std::string, 6> arguments) {
  if (access(program.c_str(), X_OK) != 0) return base::system_error("cannot start " + program);
  std::array<char*, 7> pointers{};
  for (std::size_t i = 0; i < arguments.size(); ++i) pointers[i] = arguments[i].data();
  const pid_t child = fork();
  if (child < 0) return base::system_error("cannot fork to start " + program);
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);  // the second child belongs to init: nobody here has to wait for it
    become(program.c_str(), pointers.data());
  }
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return base::ok();
}

}  // namespace

base::Result<Launch> launch_poolwatch(const std::string& program, const std::string& config_file,
                                      const StateFiles& files, base::Instant now) {
  const LeaseState lease = lease_state(files.lease);
  if (const std::optional<std::string> other = conflict(lease, files, config_file)) {
    return base::Error{base::Fault::unavailable, *other};
  }
  if (lease.holding == Holding::held) return Launch::not_needed;
  base::Result<base::Fd> mark = base::Fd::open(files.starting, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (!mark) return mark.error();
  if (flock(mark->get(), LOCK_EX | LOCK_NB) != 0) return Launch::too_soon;  // another is starting one right now
  if (is_recent(mark->get(), now)) return Launch::too_soon;
  if (base::Status shared = share_with_group(mark->get(), files.starting); !shared) return shared.error();
  if (base::Status written = write_mark(mark->get(), files.starting, now); !written) return written.error();
  const base::Status started =
      start_detached(program, {"poolwatch", "--config", config_file, "--on-demand", "--log", files.log});
  flock(mark->get(), LOCK_UN);  // for the copy too that the new process has until it closes everything
  if (!started) return started.error();
  return Launch::started;
}

std::string program_beside_us(std::string_view name) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return std::string(name);
  const std::string self(path.data(), static_cast<std::size_t>(length));
  return self.substr(0, self.rfind('/') + 1).append(name);
}

std::string poolwatch_beside_us() { return program_beside_us("poolwatch"); }

}  // namespace balance
