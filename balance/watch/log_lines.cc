// SPDX-License-Identifier: MIT
#include "balance/watch/log_lines.h"

#include <algorithm>

#include "loadprobe/base/log.h"
#include "loadprobe/base/text.h"

namespace balance {

using base::Level;

void log_faults(const base::Error& faults) {
  for (const std::string_view fault : base::split(faults.what, '\n')) {
    base::log(Level::error, "configuration refused, the old one stays", {{"cause", std::string(fault)}});
  }
}

void log_notices(const std::vector<Notice>& notices) {
  for (const Notice& notice : notices) {
    const Level level = notice.weight == Notice::Weight::bad ? Level::warning : Level::info;
    if (notice.host.empty()) {
      base::log(level, notice.what, {{"cause", notice.cause}});
    } else {
      base::log(level, notice.what, {{"host", notice.host}, {"cause", notice.cause}});
    }
  }
}

void add_reasons(std::vector<Notice>& notices, const HandFiles& files) {
  if (std::ranges::none_of(notices, &Notice::is_by_hand)) return;
  const base::Result<Kept> kept = read_kept(files);
  if (!kept) return;
  for (Notice& notice : notices) {
    const auto entry = std::ranges::find(kept->text.entries, notice.host, &HandEntry::host);
    if (!notice.is_by_hand || entry == kept->text.entries.end()) continue;
    if (entry->until && entry->duty != Duty::serving) notice.cause += ", until " + utc_text(*entry->until);
    if (!entry->reason.empty()) notice.cause += ": " + entry->reason;
  }
}

void log_troubles(const Kept& kept, const Config& config) {
  for (const std::string& fault : kept.text.faults) {
    base::log(Level::warning, "set by hand, but not understood", {{"cause", fault}});
  }
  const std::vector<std::string> names = strangers(kept.text, config);
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    base::log(Level::warning, "set by hand, but no host of the configuration",
              {{"host", names[i]}, {"file", kept.path}});
  }
  if (names.size() > kMostNamed) {
    base::log(Level::warning, "set by hand, but no hosts of the configuration",
              {{"more", std::to_string(names.size() - kMostNamed)}, {"file", kept.path}});
  }
}

}  // namespace balance
