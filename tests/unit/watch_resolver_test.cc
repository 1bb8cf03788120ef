// SPDX-License-Identifier: MIT
// Names to addresses, with look-ups that the test holds back and lets go.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "balance/watch/resolver.h"

namespace balance {
namespace {

using State = Resolved::State;

base::Instant at(double seconds) { return base::Instant{base::Seconds{seconds}}; }

void await_end(Resolver& resolver) {
  pollfd wake{resolver.wake_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wake, 1, 5000), 1);
  resolver.acknowledge();
}

base::Result<std::vector<base::Address>> one_address(const std::string&) {
  return std::vector<base::Address>{*base::parse_address("192.0.2.1")};
}

// Look-ups that hang until the test opens it.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
    changed_.notify_all();
  }
  void open() {
    const std::unique_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void await_waiting(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return waiting_ >= count; });
  }
  void await_none() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ == 0; });
  }
  std::size_t waiting() {
    const std::unique_lock lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t waiting_ = 0;
  bool open_ = false;
};

TEST(Resolver, KnowsANumericAddressAtOnce) {
  Resolver resolver([](const std::string&) { return base::Error{base::Fault::io, "nobody should ask"}; });
  const Resolved resolved = resolver.find("2001:db8::7", at(1));
  EXPECT_EQ(resolved.state, State::known);
  ASSERT_EQ(resolved.addresses.size(), 1U);
  EXPECT_EQ(base::to_text(resolved.addresses[0]), "2001:db8::7");
}

TEST(Resolver, LooksANameUpWithoutWaiting) {
  Resolver resolver(one_address);
  EXPECT_EQ(resolver.find("pinchot.example", at(1)).state, State::pending);
  await_end(resolver);
  const Resolved resolved = resolver.find("pinchot.example", at(1));
  EXPECT_EQ(resolved.state, State::known);
  ASSERT_EQ(resolved.addresses.size(), 1U);
  EXPECT_EQ(base::to_text(resolved.addresses[0]), "192.0.2.1");
}

TEST(Resolver, TellsWhyANameIsNotFound) {
  Resolver resolver([](const std::string&) {
    return base::Error{base::Fault::unavailable, "name not found: no such"};
  });
  resolver.find("nowhere.example", at(1));
  await_end(resolver);
  const Resolved resolved = resolver.find("nowhere.example", at(1));
  EXPECT_EQ(resolved.state, State::failed);
  EXPECT_EQ(resolved.failure, "name not found: no such");
}

TEST(Resolver, KeepsTheLastGoodAddressesWhenTheNameServerGoes) {
  std::atomic<int> asked{0};
  Resolver resolver([&asked](const std::string&) -> base::Result<std::vector<base::Address>> {
    if (++asked == 1) return one_address("");
    return base::Error{base::Fault::unavailable, "name not found: no server"};
  });
  resolver.find("pinchot.example", at(1));
  await_end(resolver);
  EXPECT_EQ(resolver.find("pinchot.example", at(100)).state, State::known);
  await_end(resolver);
  EXPECT_EQ(resolver.find("pinchot.example", at(100)).state, State::known);
  EXPECT_EQ(asked, 2);
}

TEST(Resolver, AsksAgainOnlyAfterHalfAMinute) {
  std::atomic<int> asked{0};
  Resolver resolver([&asked](const std::string& name) {
    ++asked;
    return one_address(name);
  });
  resolver.find("pinchot.example", at(1));
  await_end(resolver);
  resolver.find("pinchot.example", at(30));
  EXPECT_EQ(asked, 1);
  resolver.find("pinchot.example", at(31));
  await_end(resolver);
  EXPECT_EQ(asked, 2);
}

TEST(Resolver, HangingLookUpsUseABoundedNumberOfThreads) {
  Gate gate;
  {
    Resolver resolver([&gate](const std::string& name) {
      gate.pass();
      return one_address(name);
    });
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(resolver.find("host" + std::to_string(i), at(1)).state, State::pending);
    }
    gate.await_waiting(Resolver::kMostThreads);
    for (int i = 0; i < 100; ++i) resolver.find("host" + std::to_string(i), at(1000));
    EXPECT_EQ(gate.waiting(), Resolver::kMostThreads);
  }
  gate.open();
  gate.await_none();
}

TEST(Resolver, LeavesWithoutWaitingForALookUpThatHangs) {
  Gate gate;
  {
    Resolver resolver([&gate](const std::string& name) {
      gate.pass();
      return one_address(name);
    });
    resolver.find("pinchot.example", at(1));
    gate.await_waiting(1);
  }
  EXPECT_EQ(gate.waiting(), 1U);
  gate.open();
  gate.await_none();
}

TEST(Resolver, TheSystemKnowsLocalhost) {
  const auto addresses = Resolver::system_lookup("localhost");
  ASSERT_TRUE(addresses);
  EXPECT_FALSE(addresses->empty());
}

}  // namespace
}  // namespace balance
