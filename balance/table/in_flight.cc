// SPDX-License-Identifier: MIT
// A process's counts of relayed requests in flight, in one table after another as they are replaced.
#include "balance/table/in_flight.h"

#include <sys/stat.h>

#include <cassert>
#include <iterator>

namespace balance {

// One table, mapped anew: what the rest of the process does with it does not concern us.
struct InFlight::Place {
  Table table;
  std::string path;
  std::size_t users = 0;
};

InFlight::InFlight() = default;

InFlight::~InFlight() {
  for (Place& place : places_) place.table.release_slot();
}

base::Status InFlight::use(const std::string& path, const TableShape& shape) {
  const std::lock_guard guard(mutex_);
  if (!places_.empty()) {
    const Place& last = places_.back();
    if (last.path == path && last.table.intact() && last.table.is_current(path)) return base::ok();
  }
  base::Result<Table> table = Table::open(path, shape);
  if (!table) return table.error();
  if (!table->claim_slot()) {
    return base::Error{base::Fault::unavailable, path + ": all slots are taken; wanted one for requests in flight"};
  }
  places_.push_back(Place{*std::move(table), path});
  forget_idle();
  return base::ok();
}

InFlight::Count InFlight::begin(std::size_t host) {
  const std::lock_guard guard(mutex_);
  if (places_.empty() || !places_.back().table.count_flight(host, Table::Step::up)) return {};
  ++places_.back().users;
  return {this, &places_.back(), host};
}

void InFlight::Count::end() {
  if (all_ != nullptr) all_->leave(place_, host_);
  all_ = nullptr;
}

void InFlight::leave(Place* place, std::size_t host) {
  const std::lock_guard guard(mutex_);
  assert(place->users > 0);
  place->table.count_flight(host, Table::Step::down);
  --place->users;
  forget_idle();
}

// Tables that are not in use any more, and in which nothing is under way.
void InFlight::forget_idle() {
  for (auto place = places_.begin(); place != places_.end() && std::next(place) != places_.end();) {
    if (place->users > 0) {
      ++place;
      continue;
    }
    place->table.release_slot();
    place = places_.erase(place);
  }
}

}  // namespace balance
