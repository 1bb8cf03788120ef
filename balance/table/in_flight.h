// SPDX-License-Identifier: MIT
// The relayed requests that this process has in flight, counted in the shared table for all to see. Each process has a
// slot of the table; the slot is its own while it holds a lock on it, which the kernel frees when the process dies,
// however: what it had counted is then cleared by the next owner or by poolwatch, so nothing leaks.
// Floor 3. One InFlight a process, made before threads start; any thread may call its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "balance/table/table.h"
#include "loadprobe/base/fd.h"

namespace balance {

class InFlight {
 private:
  struct Place;  // in one table

 public:
  InFlight();
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  // From now on requests are counted in this table. Those that are under way stay where they began. Nothing happens if
  // it is the table in use already. An error leaves requests uncounted, which costs balance alone: no such table, or no
  // slot is free (64 processes are at it).
  base::Status use(const std::string& path, const TableShape& shape);

  // One request to one host, from its construction to its end.
  class Count {
   public:
    Count() = default;
    Count(Count&& other) noexcept { swap(other); }
    Count& operator=(Count&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Count() { end(); }
    void end();

   private:
    friend class InFlight;
    Count(InFlight* all, Place* place, std::size_t host) : all_(all), place_(place), host_(host) {}
    void swap(Count& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(place_, other.place_);
      std::swap(host_, other.host_);
    }
    InFlight* all_ = nullptr;
    Place* place_ = nullptr;
    std::size_t host_ = 0;
  };
  // `host`: its index in the table in use. The Count must not outlive this object.
  Count begin(std::size_t host);

 private:
  void leave(Place* place, std::size_t host);
  void forget_idle();

  std::mutex mutex_;         // guards the list and the users of each place
  std::list<Place> places_;  // the last one is in use
};

}  // namespace balance
