// SPDX-License-Identifier: MIT
#include "balance/relay/body.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "balance/ground/retry.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

base::Result<base::Fd> nameless_file(const std::string& folder) {
  base::Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  std::string path = folder + "/balance-body-XXXXXX";  // a file system without O_TMPFILE
  file = base::Fd(mkostemp(path.data(), O_CLOEXEC));
  if (!file) return base::system_error("cannot make a file in relay.spool-dir, " + folder);
  unlink(path.c_str());
  return file;
}

}  // namespace

base::Status Body::append_to_file(std::string_view piece) {
  std::uint64_t at = size_;
  while (!piece.empty()) {
    const ssize_t bytes = pwrite(file_.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return base::system_error("cannot write a request's body to relay.spool-dir");
    at += static_cast<std::uint64_t>(bytes);
    piece.remove_prefix(static_cast<std::size_t>(bytes));
  }
  size_ = at;
  return base::ok();
}

base::Status Body::add(std::string_view piece, const RelayConfig& config) {
  if (!file_ && size_ + piece.size() <= kMostInMemory) {
    first_.append(piece);
    size_ += piece.size();
    return base::ok();
  }
  if (!file_) {
    base::Result<base::Fd> file = nameless_file(config.spool_dir);
    if (!file) return file.error();
    file_ = *std::move(file);
    size_ = 0;
    if (base::Status moved = append_to_file(first_); !moved) return moved;
    if (first_.size() < kEffectBytes) first_.append(piece);
    if (first_.size() > kEffectBytes) first_.resize(kEffectBytes);
    first_.shrink_to_fit();
  }
  return append_to_file(piece);
}

base::Result<Body::Taken> Body::take(Exchange& exchange, std::string_view length, const RelayConfig& config) {
  const std::optional<std::uint64_t> wanted = base::whole_number(length);
  if (wanted && *wanted > config.max_body_bytes) return Taken::too_long;
  std::array<char, 16384> piece;
  for (;;) {
    const base::Result<std::size_t> got = exchange.read_body(piece);
    if (!got) return Taken::cut_short;
    if (*got == 0) return wanted && *wanted != size_ ? Taken::cut_short : Taken::whole;
    if (size_ + *got > config.max_body_bytes) return Taken::too_long;
    if (base::Status added = add({piece.data(), *got}, config); !added) return added.error();
  }
}

base::Result<std::size_t> Body::read(std::uint64_t offset, std::span<char> to) const {
  if (is_in_memory()) return first_.copy(to.data(), to.size(), static_cast<std::size_t>(std::min(offset, size_)));
  for (;;) {
    const ssize_t got = pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return base::system_error("cannot read a request's body from relay.spool-dir");
  }
}

std::uint64_t Body::fingerprint() const {
  if (size_ == 0) return 0;
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
  return base::fingerprint(first_) ^ (is_in_memory() ? 0 : size_ * kOdd);
}

}  // namespace balance
