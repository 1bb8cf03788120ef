// SPDX-License-Identifier: MIT
// Floor 3. One thread.
#include "loadprobe/commands.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "loadprobe/base/clock.h"
#include "loadprobe/base/file.h"
#include "loadprobe/daemon.h"
#include "loadprobe/probe.h"
#include "loadprobe/probe_config.h"

#ifndef SYSCONFDIR
#define SYSCONFDIR "/usr/local/etc"
#endif
#ifndef VERSION
#define VERSION "unknown"
#endif

namespace loadprobe {
namespace {

using base::Error;
using base::Fault;
using base::Result;
using base::Status;

constexpr const char* kDefaultConfig = SYSCONFDIR "/balance/loadprobe.conf";

struct ConfigFile {
  std::string path;
  enum class Named { by_default, by_someone } named = Named::by_default;
};

ConfigFile config_file(const Command& command, const std::string& from_environment) {
  if (command.config) return {*command.config, ConfigFile::Named::by_someone};
  if (!from_environment.empty()) return {from_environment, ConfigFile::Named::by_someone};
  return {kDefaultConfig, ConfigFile::Named::by_default};
}

// A missing file is no fault unless somebody named it.
bool may_be_missing(const ConfigFile& file) {
  const bool missing = ::access(file.path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
  return missing && file.named == ConfigFile::Named::by_default;
}

Result<ProbeConfig> load_config(const ConfigFile& file) {
  if (may_be_missing(file)) return default_config();
  const Result<std::string> text = base::read_file(file.path);
  if (!text) return Error{Fault::usage, text.error().what};
  return parse_config(*text, file.path);
}

Status write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return base::ok();
  return base::system_error("cannot write to standard output");
}

Teller teller() { return Teller{static_cast<double>(std::time(nullptr)), VERSION}; }

Status drain(const ProbeConfig& config, const std::string& reason) {
  // Usually below /run, which is empty after a start of the machine.
  const std::string folder = config.drain_file.substr(0, config.drain_file.rfind('/'));
  if (!folder.empty() && ::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return base::system_error("cannot make " + folder);
  }
  return base::write_file(config.drain_file, reason + "\n");
}

Status ready(const ProbeConfig& config) {
  if (::unlink(config.drain_file.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return base::ok();
  return base::system_error("cannot remove " + config.drain_file);
}

Status once(const ProbeConfig& config) { return write_out(Probe(Mounts{}, config, teller()).page(base::now())); }

}  // namespace

Status run(const Command& command, const std::string& from_environment) {
  if (command.kind == Command::Kind::help) return write_out(usage());
  if (command.kind == Command::Kind::version) return write_out("loadprobe " VERSION "\n");
  const ConfigFile file = config_file(command, from_environment);
  const Result<ProbeConfig> config = load_config(file);
  if (!config) return config.error();
  switch (command.kind) {
    case Command::Kind::serve:
      return serve(*config, teller(), [&file] { return load_config(file); });
    case Command::Kind::once:
      return once(*config);
    case Command::Kind::drain:
      return drain(*config, command.reason);
    case Command::Kind::ready:
      return ready(*config);
    case Command::Kind::check:
      return write_out(file.path + (may_be_missing(file) ? ": not there, the defaults count\n" : ": fine\n"));
    case Command::Kind::help:
    case Command::Kind::version:
      break;
  }
  return base::ok();
}

}  // namespace loadprobe
