// SPDX-License-Identifier: MIT
// Floor 3. Any thread.
#include "loadprobe/task_count.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>

#include "loadprobe/base/fd.h"
#include "loadprobe/base/file.h"
#include "loadprobe/cgroup.h"
#include "loadprobe/proc.h"

namespace loadprobe {
namespace {

constexpr int kMostDepth = 16;
constexpr std::size_t kMostIdBytes = 16 << 20;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// A cgroup's folder has two links and one more for each group below it; file systems that do not count say 1.
bool has_folders(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_nlink != 2;
}

double count_below(const TaskFiles& files, const std::string& group, int depth);

double count_in_folders(const TaskFiles& files, const std::string& group, int depth) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(group.c_str()));
  double runnable = 0;
  while (folder) {
    const dirent* entry = ::readdir(folder.get());
    if (!entry) break;
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") {
      runnable += count_below(files, group + "/" + entry->d_name, depth + 1);
    }
  }
  return runnable;
}

double count_ids(const TaskFiles& files, std::string_view ids) {
  double runnable = 0;
  for (const int id : parse_task_ids(ids)) {
    if (id != files.passed_over && is_runnable(files.proc + "/" + std::to_string(id), id, files.name)) {
      ++runnable;
    }
  }
  return runnable;
}

double count_below(const TaskFiles& files, const std::string& group, int depth) {
  const base::Result<std::string> ids = base::read_file(group + "/" + files.ids, kMostIdBytes);
  double runnable = ids ? count_ids(files, *ids) : 0;
  if (depth < kMostDepth && has_folders(group)) runnable += count_in_folders(files, group, depth);
  return runnable;
}

}  // namespace

bool is_runnable(char state) { return state == 'R' || state == 'D'; }

bool is_runnable(const std::string& process, int thread, std::string_view name) {
  // The file of a thread, not the one of its process: that one adds up the times of all threads.
  const base::Result<base::Fd> file = base::Fd::open(process + "/task/" + std::to_string(thread) + "/stat", O_RDONLY);
  if (!file) return false;
  char start[256];  // holds the longest name and the state behind it
  const ssize_t size = ::read(file->get(), start, sizeof start);
  if (size <= 0) return false;
  const std::string_view text(start, static_cast<std::size_t>(size));
  const std::optional<char> state = parse_task_state(text);
  return state && is_runnable(*state) && task_name(text).starts_with(name);
}

std::optional<double> count_runnable_processes(const std::string& proc, std::string_view name) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(proc.c_str()));
  if (!folder) return std::nullopt;
  double runnable = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    for (const int id : parse_task_ids(entry->d_name)) {
      if (is_runnable(proc + "/" + std::to_string(id), id, name)) ++runnable;
    }
  }
  return runnable;
}

std::vector<int> thread_ids(const std::string& process) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir((process + "/task").c_str()));
  std::vector<int> ids;
  while (folder) {
    const dirent* entry = ::readdir(folder.get());
    if (!entry) break;
    for (const int id : parse_task_ids(entry->d_name)) ids.push_back(id);
  }
  return ids;
}

std::optional<double> count_runnable(const TaskFiles& files) {
  if (::access((files.group + "/" + files.ids).c_str(), R_OK) != 0) return std::nullopt;
  return count_below(files, files.group, 0);
}

}  // namespace loadprobe
