// SPDX-License-Identifier: MIT
// Host names to addresses without ever waiting: getaddrinfo cannot be given a deadline, so it runs in at most
// kMostThreads threads, one look-up a name at a time, and everyone else reads what is known by now.
// Floor 3. The object is used by one thread; its look-ups run in threads of their own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

// What is known of a name. Addresses stay known while later look-ups fail: a name server that is down takes no host
// with it.
struct Resolved {
  enum class State { pending, known, failed } state = State::pending;
  std::vector<base::Address> addresses;  // known: at least one, at most kMostAddresses, in the system's order
  std::string failure;                   // failed: "name not found: Name or service not known"
};

class Resolver {
 public:
  static constexpr std::size_t kMostThreads = 8;
  static constexpr std::size_t kMostAddresses = 8;
  static constexpr base::Seconds kGoodFor{30};
  static constexpr base::Seconds kFailedFor{5};

  // Called in a look-up thread; it may hang.
  using Lookup = std::function<base::Result<std::vector<base::Address>>(const std::string& name)>;

  explicit Resolver(Lookup lookup = system_lookup);
  // Does not wait for look-ups that hang.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // What is known now; starts a look-up where it is too old. A numeric address is known at once.
  Resolved find(const std::string& name, base::Instant now);

  // A descriptor that is readable from the end of a look-up until acknowledge().
  int wake_fd() const;
  void acknowledge();

  static base::Result<std::vector<base::Address>> system_lookup(const std::string& name);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace balance
