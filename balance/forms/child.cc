// SPDX-License-Identifier: MIT
#include "balance/forms/child.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "loadprobe/base/fd.h"

namespace balance::forms {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // their shadow memory alone is terabytes of address space
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

bool write_all(int fd, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto written = write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += static_cast<std::size_t>(written);
  }
  return true;
}

[[noreturn]] void be_the_child(const Limits& limits, int out, const std::function<std::string()>& work) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.cpu.count()));
  if (!kSanitized) limit(RLIMIT_AS, limits.memory_bytes);
  for (const int fatal : {SIGSEGV, SIGABRT, SIGBUS, SIGXCPU}) std::signal(fatal, SIG_DFL);
  try {
    _exit(write_all(out, work()) ? 0 : 1);
  } catch (...) {  // nothing may unwind into the parent's part of the stack
    _exit(1);
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const auto got = read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

base::Result<std::string> in_a_child(const Limits& limits, const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return base::system_error("cannot make a pipe");
  base::Fd out(ends[0]);
  base::Fd in(ends[1]);
  const pid_t child = fork();
  if (child < 0) return base::system_error("cannot fork");
  if (child == 0) be_the_child(limits, in.get(), work);
  in.close();
  auto text = read_all(out.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return base::system_error("cannot wait for the child");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  const bool late = WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
  return base::Error{base::Fault::io, late ? "took more than " + std::to_string(limits.cpu.count()) + " s of CPU"
                                           : "failed (memory, or a fault in the HTML parser)"};
}

}  // namespace balance::forms
