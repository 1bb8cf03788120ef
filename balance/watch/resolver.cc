// SPDX-License-Identifier: MIT
// See resolver.h.
#include "balance/watch/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "loadprobe/base/fd.h"

namespace balance {

// Outlives the Resolver as long as a thread is in a look-up that hangs: the last one to leave deletes it.
struct Resolver::Shared {
  struct Name {
    Resolved resolved;
    bool under_way = false;
    base::Instant asked = base::kNever;
  };

  Lookup lookup;
  base::Fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;  // guards everything below
  std::condition_variable changed;
  std::unordered_map<std::string, Name> names;
  std::deque<std::string> queue;
  std::size_t threads = 0, idle = 0;
  bool closing = false;

  static void work(Shared* shared);
  void finish(const std::string& name, base::Result<std::vector<base::Address>> found);
  void enqueue(const std::string& name);
};

namespace {

std::optional<base::Address> address_of(const addrinfo& info) {
  base::Address address;
  if (info.ai_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, info.ai_addr, sizeof v6);
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
    return address;
  }
  if (info.ai_family != AF_INET) return std::nullopt;
  sockaddr_in v4{};
  std::memcpy(&v4, info.ai_addr, sizeof v4);
  address.bytes[10] = address.bytes[11] = 0xff;
  std::memcpy(address.bytes.data() + 12, &v4.sin_addr, 4);
  return address;
}

}  // namespace

base::Result<std::vector<base::Address>> Resolver::system_lookup(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    const std::string reason = error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error);
    return base::Error{base::Fault::unavailable, "name not found: " + reason};
  }
  std::vector<base::Address> addresses;
  for (const addrinfo* info = list; info != nullptr && addresses.size() < kMostAddresses; info = info->ai_next) {
    const std::optional<base::Address> address = address_of(*info);
    if (address && std::find(addresses.begin(), addresses.end(), *address) == addresses.end()) {
      addresses.push_back(*address);
    }
  }
  ::freeaddrinfo(list);
  if (addresses.empty()) return base::Error{base::Fault::unavailable, "name not found: it has no address"};
  return addresses;
}

void Resolver::Shared::finish(const std::string& name, base::Result<std::vector<base::Address>> found) {
  Name& entry = names[name];
  entry.under_way = false;
  if (found) {
    entry.resolved = {Resolved::State::known, *std::move(found), ""};
  } else if (entry.resolved.state != Resolved::State::known) {
    entry.resolved = {Resolved::State::failed, {}, found.error().what};
  }
  const std::uint64_t one = 1;
  // A full counter is readable as well.
  [[maybe_unused]] const ssize_t written = ::write(wake.get(), &one, sizeof one);
}

void Resolver::Shared::work(Shared* shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    ++shared->idle;
    shared->changed.wait(lock, [shared] { return shared->closing || !shared->queue.empty(); });
    --shared->idle;
    if (shared->closing) break;
    const std::string name = std::move(shared->queue.front());
    shared->queue.pop_front();
    lock.unlock();
    base::Result<std::vector<base::Address>> found = shared->lookup(name);
    lock.lock();
    shared->finish(name, std::move(found));
  }
  const bool last = --shared->threads == 0;
  lock.unlock();
  if (last) const std::unique_ptr<Shared> owned(shared);
}

void Resolver::Shared::enqueue(const std::string& name) {
  queue.push_back(name);
  if (queue.size() > idle && threads < kMostThreads) {
    ++threads;
    std::thread(work, this).detach();
  }
  changed.notify_one();
}

Resolver::Resolver(Lookup lookup) : shared_(std::make_unique<Shared>()) { shared_->lookup = std::move(lookup); }

Resolver::~Resolver() {
  const std::unique_lock lock(shared_->mutex);
  shared_->closing = true;
  shared_->changed.notify_all();
  // From here on its threads own it.
  if (shared_->threads > 0) static_cast<void>(shared_.release());
}

Resolved Resolver::find(const std::string& name, base::Instant now) {
  if (const std::optional<base::Address> address = base::parse_address(name)) {
    return {Resolved::State::known, {*address}, ""};
  }
  const std::unique_lock lock(shared_->mutex);
  Shared::Name& entry = shared_->names[name];
  const base::Seconds good_for = entry.resolved.state == Resolved::State::known ? kGoodFor : kFailedFor;
  if (!entry.under_way && now - entry.asked >= good_for) {
    entry.under_way = true;
    entry.asked = now;
    shared_->enqueue(name);
  }
  return entry.resolved;
}

int Resolver::wake_fd() const { return shared_->wake.get(); }

void Resolver::acknowledge() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(shared_->wake.get(), &count, sizeof count);
}

}  // namespace balance
