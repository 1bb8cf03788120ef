// SPDX-License-Identifier: MIT
// The configuration's file: read once, and looked at again while the process lives. Floor 3.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "balance/ground/config.h"
#include "balance/table/state_dir.h"
#include "loadprobe/base/result.h"

namespace balance {

// $(sysconfdir)/balance/balance.conf
std::string default_config_file();
// What a command line (or "") and BALANCE_CONFIG (or null) name, else the default; made absolute, so that it means the
// same to a program started elsewhere.
std::string config_file_named(const std::string& option, const char* environment);

// Reads and parses. Errors: Fault::usage for faults in it, all of them; Fault::usage too if it cannot be read.
base::Result<Config> read_config(const std::string& path);

enum class Refresh {
  unchanged,
  changed,  // config() is another one now
  faulty,   // the file changed, but cannot be used: the old one stays, error() says why. Told once for each change
};

// One thread at a time: whoever shares it, guards it.
class ConfigFile {
 public:
  static base::Result<ConfigFile> open(const std::string& path, base::Instant now);
  // The same; but where the file cannot be used, the one that was in use last takes its place (used_config.h), if there
  // is one, and error() says why. A file that can be used costs nothing more than with open().
  static base::Result<ConfigFile> open_or_used(const std::string& path, base::Instant now, const StateRoots& roots);
  static base::Result<ConfigFile> open_or_used(const std::string& path, base::Instant now);

  const Config& config() const { return config_; }
  const std::string& text() const { return text_; }  // of config()
  // Why the file as it is now cannot be used; nothing in it: it can.
  const base::Error& error() const { return error_; }
  bool is_faulty() const { return !error_.what.empty(); }

  // Looks at the file's time, size and inode, at most four times a second, and reads it once one of them has changed
  // and all have stayed the same from one look to the next: a file that is still being written may be cut in the middle
  // of a name. A text with the same fingerprint is no change.
  Refresh refresh(base::Instant now);
  // Reads it now, whatever its time says (SIGHUP).
  Refresh reload(base::Instant now);

 private:
  struct Mark {  // what tells one state of the file from the next
    std::int64_t modified_ns = -1;
    std::int64_t bytes = -1;
    std::uint64_t inode = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  static Mark mark_of(const std::string& path);
  ConfigFile(std::string path, std::string text, Config config, Mark mark, base::Instant now)
      : path_(std::move(path)),
        text_(std::move(text)),
        config_(std::move(config)),
        mark_(mark),
        pending_(mark),
        looked_(now) {}

  std::string path_;
  std::string text_;
  Config config_;
  base::Error error_;
  Mark mark_;     // of the text that was read last
  Mark pending_;  // another one, seen at the last look
  base::Instant looked_;
};

}  // namespace balance
