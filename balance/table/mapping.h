// SPDX-License-Identifier: MIT
// The mapped memory of a table and where its parts lie. For table.cc and flights.cc alone. Floor 3.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <optional>

#include "balance/table/layout.h"
#include "balance/table/sigbus.h"
#include "balance/table/table.h"
#include "loadprobe/base/fd.h"

namespace balance {

struct Table::Mapping {
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    guard = Guard();  // before the range can become someone else's
    if (begin != nullptr) munmap(begin, bytes);
  }

  template <class Part>
  Part& at(std::size_t offset) const {
    assert(offset + sizeof(Part) <= bytes);
    return *reinterpret_cast<Part*>(static_cast<char*>(begin) + offset);
  }
  layout::Head& head() const { return at<layout::Head>(0); }
  layout::PoolRecord& pool() const { return at<layout::PoolRecord>(layout::kPoolAt); }
  layout::Shared& shared() const { return at<layout::Shared>(layout::kSharedAt); }
  layout::HostRecord& host(std::size_t i) const { return at<layout::HostRecord>(layout::host_at(i)); }
  layout::Live& live(std::size_t i) const { return at<layout::Live>(layout::live_at(i, hosts)); }
  layout::Bucket& bucket(std::size_t i) const {
    return at<layout::Bucket>(layout::buckets_at(hosts) + i * sizeof(layout::Bucket));
  }
  layout::Flights& flights(std::size_t i) const { return at<layout::Flights>(layout::flights_at(i, hosts)); }
  layout::Bucket& killers(std::size_t i) const {
    return at<layout::Bucket>(layout::killers_at(hosts) + i * sizeof(layout::Bucket));
  }
  bool writable() const { return access == Access::read_write; }

  void* begin = nullptr;
  std::size_t bytes = 0;
  std::size_t hosts = 0;  // the shape's, never the file's
  Access access = Access::read_write;
  std::uint64_t balancer_id = 0;
  base::Fd file;                        // for the locks of slots
  std::optional<std::size_t> own_slot;  // claimed through this mapping
  dev_t device = 0;
  ino_t inode = 0;
  std::atomic<bool> lost{false};
  Guard guard;
};

}  // namespace balance
