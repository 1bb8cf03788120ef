// SPDX-License-Identifier: MIT
// What the stress programs share: a folder, child processes, counters that all of them see, one result line.
// A failed check prints itself and ends the process with status 1; the parent passes that on.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <utility>

namespace stress {

inline void require(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::_Exit(1);
}

class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "mapbalance-XXXXXX").string();
    require(mkdtemp(path.data()) != nullptr, "a folder of our own");
    path_ = path;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Numbers in memory that children share with their parent.
struct Counters {
  std::atomic<std::uint64_t> looks, nothing, lost;
  std::atomic<bool> stop;
};
inline Counters& shared_counters() {
  void* const place = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(place != MAP_FAILED, "shared memory for counters");
  return *static_cast<Counters*>(place);
}

// Runs `body` in a child, which ends with status 0 after it, or with that of a failed check. It dies with its parent.
template <class Body>
pid_t child(Body body) {
  const pid_t pid = fork();
  require(pid >= 0, "fork");
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  std::_Exit(0);
}

inline void end_well(pid_t pid, const char* who) {
  int status = 0;
  require(waitpid(pid, &status, 0) == pid, "wait for a child");
  if (WIFSIGNALED(status)) std::fprintf(stderr, "%s: signal %d\n", who, WTERMSIG(status));
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, who);
}

inline void pause_for(long microseconds) {
  const timespec pause{.tv_sec = 0, .tv_nsec = microseconds * 1000};
  nanosleep(&pause, nullptr);
}

// Numbers that are the same at every run.
struct Chance {
  std::uint64_t state;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

}  // namespace stress
