// SPDX-License-Identifier: MIT
// A configuration while its file is being read, and the readers of its lines. For config*.{h,cc} and hand_file.cc
// alone. Floor 1: values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balance/ground/config.h"

namespace balance {

// Of faults that belong to no line.
inline constexpr std::size_t kWholeFile = std::numeric_limits<std::size_t>::max();

// A host line; what it leaves open is filled in when all keys are known.
struct HostDraft {
  HostConfig host;
  std::optional<ProbeKind> probe;
  std::optional<std::uint16_t> probe_port;
  std::size_t setting = 0;  // its index in Settings::list
};

struct Draft {
  Config config;
  ProbeKind probe_kind = ProbeKind::loadprobe;
  std::optional<std::uint16_t> probe_port;
  std::vector<HostDraft> hosts;
  std::string local_name, local_path;  // of the key 'local'; "": there is none
  std::vector<base::SettingFault> faults;
};

// Takes in one setting; what is wrong with it goes to draft.faults. `seen` counts the keys that were met.
class KeyReader {
 public:
  explicit KeyReader(Draft& draft);
  void read(const base::Setting& setting, std::size_t index);

 private:
  Draft& draft_;
  std::vector<char> seen_;  // by key
};

// Takes in one host line.
void read_host(std::string_view value, std::size_t index, Draft& draft);

// At most 63 letters, digits, '.', '-' and '_'.
bool is_host_name(std::string_view name);
// Whether it is an option of host lines, such as 'weight'.
bool is_host_option(std::string_view name);

std::optional<ProbeKind> probe_kind_of(std::string_view name);
std::uint16_t default_port(ProbeKind kind);

}  // namespace balance
