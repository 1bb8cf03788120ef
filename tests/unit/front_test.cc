// SPDX-License-Identifier: MIT
#include "balance/front/front.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "balance/front/gateway.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/file.h"
#include "tests/unit/exchanges.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

class Answering : public testing::Test {
 protected:
  void write(const std::string& more, const std::string& hosts = "host = muir http://muir.example.org probe=none\n") {
    ASSERT_TRUE(base::write_file(folder_ / "test.conf", "state-dir = " + (folder_ / "state") + "\n" + more + hosts));
  }
  // Never looks for a poolwatch to start: its folder is the one of this test, and there is none.
  std::unique_ptr<Front> front(Gateway gateway = Gateway::fastcgi) {
    base::Result<ConfigFile> file = Front::read(folder_ / "test.conf");
    EXPECT_TRUE(file) << (file ? "" : file.error().what);
    return file ? std::make_unique<Front>(*std::move(file), gateway) : nullptr;
  }
  Table table() {
    const base::Result<Config> config = read_config(folder_ / "test.conf");
    const TableShape shape{config->fingerprint, config->hosts.size(), base::boot_id()};
    base::Result<Table> made = Table::create(table_path(), shape);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    PoolStanding pool;
    pool.beat = pool.started = base::now();
    made->publish(pool);
    return *std::move(made);
  }
  std::string table_path() const { return folder_ / "state/test.conf.table"; }
  static std::string ask(Front& front, const char* method = "REQUEST_METHOD=GET") {
    MemoryExchange exchange({method, "QUERY_STRING=mode=map", "SCRIPT_NAME=/cgi-bin/mapserv"});
    front.respond(exchange);
    return exchange.answer;
  }

  ScratchDir folder_;
};

TEST_F(Answering, WithoutATableGoesByWeight) {
  write("");
  EXPECT_EQ(ask(*front()).substr(0, 86),
            "Status: 302 Found\r\nLocation: http://muir.example.org/cgi-bin/mapserv?mode=map\r\nCache-C");
}

TEST_F(Answering, CountsDispatchesInTheTableThatItFinds) {
  write("");
  const std::unique_ptr<Front> first = front();  // makes the state directory
  const Table counted = table();
  const std::unique_ptr<Front> second = front();
  ask(*second);
  ask(*second);
  EXPECT_EQ(counted.dispatches(0), 2U);
}

TEST_F(Answering, ManyThreadsLoseNoDispatch) {
  write("", "host = muir http://muir.example.org probe=none\nhost = capra http://capra.example.org probe=none\n");
  (void)front();
  const Table counted = table();
  const std::unique_ptr<Front> shared = front();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&shared] {
      for (int j = 0; j < 250; ++j) ask(*shared);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counted.dispatches(0) + counted.dispatches(1), 1000U);
}

TEST_F(Answering, ATableTruncatedUnderItIsNoTable) {
  write("");
  (void)front();
  const Table counted = table();
  const std::unique_ptr<Front> shared = front();
  ask(*shared);
  ASSERT_EQ(truncate(table_path().c_str(), 0), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(*shared).substr(0, 17), "Status: 302 Found");
}

TEST_F(Answering, ATableOfAnotherConfigurationIsNoTable) {
  write("");
  (void)front();
  const Table counted = table();
  write("host-header = no\n");
  EXPECT_EQ(ask(*front()).substr(0, 17), "Status: 302 Found");
  EXPECT_EQ(counted.dispatches(0), 0U);
}

TEST_F(Answering, AnUnreadableStateDirectoryIsNoReasonToFail) {
  ASSERT_TRUE(base::write_file(folder_ / "state", "a file"));
  write("");
  EXPECT_EQ(ask(*front()).substr(0, 17), "Status: 302 Found");
}

TEST_F(Answering, AReloadTakesANewConfigurationAndRefusesAFaultyOne) {
  write("");
  const std::unique_ptr<Front> shared = front();
  EXPECT_NE(ask(*shared).find("X-Balance-Host: muir"), std::string::npos);
  write("", "host = capra http://capra.example.org probe=none\n");
  shared->reload();
  EXPECT_NE(ask(*shared).find("X-Balance-Host: capra"), std::string::npos);
  write("moed = relay\n");
  shared->reload();
  EXPECT_NE(ask(*shared).find("X-Balance-Host: capra"), std::string::npos);
}

TEST_F(Answering, AMethodThatIsNoneIsABadRequest) {
  write("");
  EXPECT_EQ(ask(*front(), "REQUEST_METHOD=B@D").substr(0, 23), "Status: 400 Bad Request");
  EXPECT_EQ(ask(*front(), "REQUEST_METHOD=").substr(0, 23), "Status: 400 Bad Request");
}

TEST_F(Answering, HeadHasNoBody) {
  write("");
  const std::string answer = ask(*front(), "REQUEST_METHOD=HEAD");
  EXPECT_EQ(answer.substr(answer.size() - 4), "\r\n\r\n");
}

TEST_F(Answering, AFaultyConfigurationIsUsageWithAllFaults) {
  write("moed = relay\nmode = x\n");
  const base::Result<ConfigFile> file = Front::read(folder_ / "test.conf");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().fault, base::Fault::usage);
  EXPECT_NE(file.error().what.find("test.conf:2:"), std::string::npos);
  EXPECT_NE(file.error().what.find("test.conf:3:"), std::string::npos);
}

TEST(WebServers, NoneAreNamed) {
  EXPECT_TRUE(web_servers_of(nullptr)->empty());
  EXPECT_TRUE(web_servers_of("")->empty());
  EXPECT_TRUE(web_servers_of("  ")->empty());
}

TEST(WebServers, AreAddressesWithCommasBetween) {
  const base::Result<std::vector<base::Address>> found = web_servers_of("192.0.2.1, 2001:db8::7,127.0.0.1");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 3U);
  EXPECT_EQ(base::to_text((*found)[1]), "2001:db8::7");
}

TEST(WebServers, ANameIsAFault) {
  const base::Result<std::vector<base::Address>> found = web_servers_of("192.0.2.1,localhost");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().fault, base::Fault::usage);
  EXPECT_EQ(found.error().what,
            "FCGI_WEB_SERVER_ADDRS: 'localhost' is no address; wanted IP addresses with commas between");
}

}  // namespace
}  // namespace balance
