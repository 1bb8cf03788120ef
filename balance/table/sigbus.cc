// SPDX-License-Identifier: MIT
// The SIGBUS handler and the ranges it knows.
#include "balance/table/sigbus.h"

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "loadprobe/base/fd.h"

namespace balance {
namespace {

struct Range {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};  // 0: not in force
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::atomic<bool>*> lost{nullptr};
};

// A signal handler can be told nothing: what it needs has to lie at a fixed place. Lock-free words only, so that it may
// be looked at in the middle of anything.
constinit std::array<Range, 64> ranges;
struct sigaction previous;

bool zero_pages_over(std::uintptr_t address) {
  for (Range& range : ranges) {
    const std::uintptr_t begin = range.begin.load(std::memory_order_acquire);
    const std::size_t bytes = range.bytes.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address - begin >= bytes) continue;
    void* const place = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr)
    if (mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
      return false;
    }
    range.lost.load(std::memory_order_acquire)->store(true, std::memory_order_release);
    return true;
  }
  return false;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  const bool sent = info->si_code <= 0;  // by kill(2): returning would not raise it again
  if (sent && previous.sa_handler == SIG_IGN) return;
  struct sigaction fallback = {};
  fallback.sa_handler = SIG_DFL;
  sigaction(signal, &fallback, nullptr);
  if (sent) raise(signal);  // delivered when the handler returns
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  const int kept = errno;
  const bool ours = info->si_code > 0 && zero_pages_over(reinterpret_cast<std::uintptr_t>(info->si_addr));
  if (!ours) pass_on(signal, info, context);
  errno = kept;
}

bool install() {
  struct sigaction action = {};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGBUS, nullptr, &previous) == 0 && sigaction(SIGBUS, &action, nullptr) == 0;
}

}  // namespace

base::Result<Guard> Guard::over(void* begin, std::size_t bytes, std::atomic<bool>* lost) {
  static const bool installed = install();
  if (!installed) return base::system_error("cannot install a handler for SIGBUS");
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    Range& range = ranges[i];
    if (range.taken.exchange(true, std::memory_order_acq_rel)) continue;
    range.bytes.store(bytes, std::memory_order_release);
    range.lost.store(lost, std::memory_order_release);
    range.begin.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_release);
    return Guard(static_cast<int>(i));
  }
  return base::Error{base::Fault::io, "cannot watch over a mapped table: 64 are open in this process already"};
}

Guard::Guard(Guard&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

Guard& Guard::operator=(Guard&& other) noexcept {
  if (this != &other) {
    release();
    slot_ = std::exchange(other.slot_, -1);
  }
  return *this;
}

void Guard::release() {
  if (slot_ < 0) return;
  Range& range = ranges[static_cast<std::size_t>(slot_)];
  range.begin.store(0, std::memory_order_release);
  range.taken.store(false, std::memory_order_release);
  slot_ = -1;
}

}  // namespace balance
