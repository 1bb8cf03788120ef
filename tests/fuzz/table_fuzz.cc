// SPDX-License-Identifier: MIT
// Whatever stands in the table's file, choosing ends, and what it chooses is a configured host. The first two bytes say
// from which word on the rest of the input is written over a good table.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "balance/front/decide.h"
#include "balance/table/table.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/file.h"
#include "tests/fuzz/fuzz.h"

namespace {

using balance::Instant;
using balance::Seconds;

constexpr Instant kNow{Seconds{1000}};

// A good table of three hosts, its bytes, and a request to answer from it.
struct Scene {
  Scene() {
    std::string folder = (std::filesystem::temp_directory_path() / "table-fuzz-XXXXXX").string();
    fuzz::promise(mkdtemp(folder.data()) != nullptr, "a folder of our own");
    path = folder + "/t";
    shape = {.fingerprint = config.fingerprint, .hosts = config.hosts.size(), .boot_id = "b"};
    {
      auto table = balance::Table::create(path, shape);
      fuzz::promise(static_cast<bool>(table), "a table");
      balance::Standing standing;
      standing.health = balance::Health::up;
      standing.reported = kNow;
      for (std::size_t host = 0; host < shape.hosts; ++host) table->publish(host, standing);
      balance::PoolStanding pool;
      pool.beat = kNow;
      table->publish(pool);
    }
    good = *base::read_file(path, 64 << 20);
    file = *base::Fd::open(path, O_WRONLY);
  }
  ~Scene() {
    std::error_code ignored;
    std::filesystem::remove_all(std::filesystem::path(path).parent_path(), ignored);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  void write(std::string_view bytes, std::size_t from) const {
    const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(from));
    fuzz::promise(written == static_cast<ssize_t>(bytes.size()), "the file can be written");
  }

  balance::Config config = *balance::parse_config(
      "host = pinchot http://pinchot.example.org\nhost = leopold http://leopold.example.org weight=2\n"
      "host = darwin http://darwin.example.org backup\n",
      "x.conf");
  balance::TableShape shape;
  std::string path, good;
  base::Fd file;
};

void look(const balance::Table& table, std::size_t hosts) {
  for (std::size_t host = 0; host < hosts; ++host) {
    if (const auto standing = table.standing(host)) {
      fuzz::promise(std::isfinite(standing->background) && std::isfinite(standing->cores), "standings are numbers");
    }
    const balance::Live live = table.live(host, kNow);
    fuzz::promise(std::isfinite(live.prediction.requests) && live.prediction.requests >= 0, "predictions are numbers");
    fuzz::promise(!live.by_hand.weight || (*live.by_hand.weight >= 0 && *live.by_hand.weight <= 1000),
                  "weights set by hand are in their range");
    fuzz::promise(balance::by_hand_of(packed(live.by_hand)) == live.by_hand, "what was set by hand is read as packed");
    static_cast<void>(table.dispatches(host));
    static_cast<void>(table.in_flight(host));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Scene kScene;
  if (size < 2) return 0;
  const std::size_t from = (bytes[0] + 256U * bytes[1]) * 8U % kScene.good.size();
  const std::string_view damage = fuzz::text_of(bytes + 2, size - 2).substr(0, kScene.good.size() - from);
  kScene.write(kScene.good, 0);
  kScene.write(damage, from);

  auto table = balance::Table::open(kScene.path, kScene.shape);
  if (!table) return 0;
  look(*table, kScene.shape.hosts);
  balance::RawRequest raw;
  raw.method = "GET";
  raw.query_string = "map=WORLD&mode=browse&id=7";
  raw.script_name = raw.request_uri = "/cgi-bin/mapserv";
  raw.remote_addr = "192.0.2.1";
  const balance::Request request = *balance::parse_request(raw, kScene.config);
  balance::Draw draw{size};
  for (int i = 0; i < 4; ++i) {
    const auto decision = balance::decide_and_dispatch(request, kScene.config, &*table, kNow + Seconds{i * 0.1}, draw);
    fuzz::promise(!decision.host || *decision.host < kScene.shape.hosts, "a choice is a host of ours");
    fuzz::promise(!to_cgi(decision.reply, request.method).empty(), "every request is answered");
  }
  table->clear_dead_slots();
  return 0;
}
