// SPDX-License-Identifier: MIT
// Floor 3. Any thread.
#include "loadprobe/process_tree.h"

#include <vector>

#include "loadprobe/base/file.h"
#include "loadprobe/base/text.h"
#include "loadprobe/cgroup.h"
#include "loadprobe/proc.h"
#include "loadprobe/task_count.h"

namespace loadprobe {
namespace {

using base::Error;
using base::Fault;
using base::Result;

// More is no web server, or a loop of files that change under us.
constexpr std::size_t kMostProcesses = 32768;
constexpr std::size_t kMostStatBytes = 4096;

std::vector<int> children_of_thread(const std::string& process, int thread) {
  const Result<std::string> list = base::read_file(process + "/task/" + std::to_string(thread) + "/children");
  if (!list) return {};
  std::vector<int> children;
  for (const std::string_view word : base::words(base::trim(*list))) {
    for (const int id : parse_task_ids(word)) children.push_back(id);
  }
  return children;
}

// Adds the threads of one process and appends its children, whom each of its threads may have.
void take_threads(const TreeFiles& files, int id, const ProcessStat& stat, Tree& tree, std::vector<int>& members) {
  const std::string process = files.proc + "/" + std::to_string(id);
  // The only thread's state stands in the file that was read already.
  const std::vector<int> threads = stat.threads == 1 ? std::vector<int>{id} : thread_ids(process);
  for (const int thread : threads) {
    const bool counts = thread != files.passed_over;
    if (counts && (stat.threads == 1 ? is_runnable(stat.state) : is_runnable(process, thread))) ++tree.running;
    const std::vector<int> children = children_of_thread(process, thread);
    members.insert(members.end(), children.begin(), children.end());
  }
}

}  // namespace

Result<int> read_pid_file(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kMostStatBytes);
  if (!text) return text.error();
  const std::vector<int> ids = parse_task_ids(base::trim(text->substr(0, text->find('\n'))));
  if (ids.size() == 1) return ids.front();
  return Error{Fault::input, "found '" + base::escaped(*text, 40) + "'; wanted a process id"};
}

std::optional<Tree> read_tree(const TreeFiles& files, int root) {
  Tree tree;
  std::vector<int> members{root};
  // Parents before their children: one that ends between the two is missed once, and never counted twice.
  for (std::size_t i = 0; i < members.size() && i < kMostProcesses; ++i) {
    const int id = members[i];
    const Result<std::string> text = base::read_file(files.proc + "/" + std::to_string(id) + "/stat", kMostStatBytes);
    const std::optional<ProcessStat> stat = text ? parse_process_stat(*text) : std::nullopt;
    if (!stat && i == 0) return std::nullopt;
    if (!stat) continue;
    tree.ticks += stat->own_ticks + stat->children_ticks;
    take_threads(files, id, *stat, tree, members);
  }
  return tree;
}

}  // namespace loadprobe
