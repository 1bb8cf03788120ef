// SPDX-License-Identifier: MIT
// A client's body, taken whole before any host is asked: a slow client holds no host, and the request can be sent
// again. The memory it takes is bounded whatever its size: a long one goes to a file that has no name. Floor 3. Used by
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "balance/front/exchange.h"
#include "balance/ground/config.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/result.h"

namespace balance {

class Body {
 public:
  static constexpr std::size_t kMostInMemory = std::size_t{1} << 20;

  enum class Taken : std::uint8_t {
    whole,
    too_long,   // more than RelayConfig::max_body_bytes; what is left was not read
    cut_short,  // it ended before its CONTENT_LENGTH, or the web server went
  };
  // `length`: the gateway's CONTENT_LENGTH, "" if there is none. An error: there is no room for it (disk, folder).
  base::Result<Taken> take(Exchange& exchange, std::string_view length, const RelayConfig& config);

  std::uint64_t size() const { return size_; }
  // All of it, or the beginning (kEffectBytes) of one that is in a file.
  std::string_view first() const { return first_; }
  bool is_in_memory() const { return !file_; }
  // The bytes at `offset`, 0 at the end. The error is the disk's.
  base::Result<std::size_t> read(std::uint64_t offset, std::span<char> to) const;
  // 0 for an empty one. One in a file is told by its beginning and its size.
  std::uint64_t fingerprint() const;

 private:
  base::Status add(std::string_view piece, const RelayConfig& config);
  base::Status append_to_file(std::string_view piece);

  std::uint64_t size_ = 0;
  std::string first_;
  base::Fd file_;
};

}  // namespace balance
