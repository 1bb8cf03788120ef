// SPDX-License-Identifier: MIT
// What loadprobe knows while it runs: the last sample, the order of the administrator, the balancers' counts.
// Floor 3. One thread.
#pragma once

#include <optional>
#include <string>

#include "loadprobe/base/network.h"
#include "loadprobe/base/time.h"
#include "loadprobe/dispatch_book.h"
#include "loadprobe/sampler.h"
#include "loadprobe/server.h"

namespace loadprobe {

class Probe {
 public:
  // A sample serves all who ask within this time.
  static constexpr base::Seconds kSampleHolds{0.1};

  Probe(Mounts mounts, const ProbeConfig& config, Teller teller);

  // Other settings from now on; the counts stay.
  void follow(const ProbeConfig& config);

  Reply reply(const Question& question, const base::Address& peer, base::Instant now);

  // The page as of now. Logs a change of the order.
  std::string page(base::Instant now);

 private:
  void refresh(base::Instant now);
  const std::string& map_page(base::Instant now);

  Mounts mounts_;
  Teller teller_;
  std::vector<base::Cidr> allow_;
  std::optional<Sampler> sampler_;
  DispatchBook book_;
  Order order_;
  std::string sample_page_;
  base::Instant sampled_ = base::kNever;
  std::string map_page_;
  base::Instant maps_counted_ = base::kNever;
};

}  // namespace loadprobe
