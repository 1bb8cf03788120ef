// SPDX-License-Identifier: MIT
// Floor 3. One thread.
#include "loadprobe/probe.h"

#include <utility>

#include "loadprobe/base/log.h"

namespace loadprobe {

Probe::Probe(Mounts mounts, const ProbeConfig& config, Teller teller) : mounts_(std::move(mounts)), teller_(teller) {
  follow(config);
}

void Probe::follow(const ProbeConfig& config) {
  allow_ = config.allow;
  sampler_.emplace(mounts_, config.scope, config.drain_file, config.queues);
  sampled_ = maps_counted_ = base::kNever;
}

Reply Probe::reply(const Question& question, const base::Address& peer, base::Instant now) {
  constexpr auto kPlain = "text/plain; charset=utf-8";
  Question admitted = question;
  admitted.admission = base::contains(allow_, peer) ? Admission::allowed : Admission::refused;
  const Ruling ruling = rule_on(admitted);
  if (ruling.told) book_.tell(ruling.told->balancer, ruling.told->count, now);
  if (!ruling.wants_metrics()) return Reply{ruling.status, kPlain, ruling.text};
  std::string whole = page(now);
  if (ruling.counts_map_processes) whole += map_page(now);
  return Reply{ruling.status, "text/plain; version=0.0.4; charset=utf-8", std::move(whole)};
}

const std::string& Probe::map_page(base::Instant now) {
  if (now - maps_counted_ < kSampleHolds) return map_page_;
  map_page_ = page_of_map_processes(sampler_->map_processes());
  maps_counted_ = now;
  return map_page_;
}

std::string Probe::page(base::Instant now) {
  if (now - sampled_ >= kSampleHolds) refresh(now);
  return sample_page_ + page_of_dispatches(book_.total());
}

void Probe::refresh(base::Instant now) {
  const Sample sample = sampler_->take(now);
  if (sample.order != order_) {
    order_ = sample.order;
    base::log(base::Level::info, "duty changed",
              {{"duty", std::string(name_of(order_.duty))}, {"reason", order_.reason}});
  }
  sample_page_ = page_of(sample, teller_);
  sampled_ = now;
}

}  // namespace loadprobe
