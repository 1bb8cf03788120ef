// SPDX-License-Identifier: MIT
// Starts programs in turns, as a web server starts CGI programs, and prints the median wall time of each in
// microseconds, one a line: starts TIMES PROGRAM... The environment is passed on; what they print is thrown away.
// A program that may have its own environment: 'NAME=VALUE PROGRAM' in one argument.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Candidate {
  std::string variable, program;
  std::vector<double> microseconds;
};

// The instant at which it had ended, or the program's end with status 1.
double run(const Candidate& candidate, const posix_spawn_file_actions_t& actions) {
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
  std::string own = candidate.variable, program = candidate.program;
  if (!own.empty()) environment.push_back(own.data());
  environment.push_back(nullptr);
  char* arguments[] = {program.data(), nullptr};
  const auto begin = std::chrono::steady_clock::now();
  pid_t pid = 0;
  int status = 0;
  const bool ran = posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environment.data()) == 0 &&
                   waitpid(pid, &status, 0) == pid && status == 0;
  if (!ran) {
    std::fprintf(stderr, "%s: ended with %d\n", program.c_str(), status);
    std::exit(1);
  }
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const int times = std::atoi(arguments[1]);
  std::vector<Candidate> candidates;
  for (int i = 2; i < count; ++i) {
    const std::string word = arguments[i];
    const std::size_t blank = word.find(' ');
    candidates.push_back(blank == std::string::npos ? Candidate{"", word, {}}
                                                    : Candidate{word.substr(0, blank), word.substr(blank + 1), {}});
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  for (int i = 0; i < times; ++i) {
    for (Candidate& candidate : candidates) candidate.microseconds.push_back(run(candidate, actions));
  }
  for (Candidate& candidate : candidates) {
    auto& sorted = candidate.microseconds;
    std::sort(sorted.begin(), sorted.end());
    std::printf("%.1f\n", sorted[sorted.size() / 2]);
  }
}
