// SPDX-License-Identifier: MIT
// Floor 1: a value; time comes in.
#include "loadprobe/dispatch_book.h"

#include <algorithm>
#include <charconv>

namespace loadprobe {

std::optional<std::uint64_t> parse_balancer_id(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() != 16 || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  std::uint64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id, 16);
  return id;
}

void DispatchBook::tell(std::uint64_t balancer, std::uint64_t count, base::Instant now) {
  std::erase_if(pages_, [now](const Page& page) { return now - page.told > kMemory; });
  const auto page = std::ranges::find(pages_, balancer, &Page::balancer);
  if (page == pages_.end()) {
    if (pages_.size() < kMostBalancers) pages_.push_back(Page{balancer, count, now});
    return;
  }
  const std::uint64_t step = count >= page->count ? count - page->count : count;
  // More than a balancer can have sent since it was last heard, at most a minute ago: whoever says so, it would spoil
  // what all the others learn of their share.
  constexpr std::uint64_t kMostStep = 10'000'000;
  if (step <= kMostStep) total_ += step;
  *page = Page{balancer, count, now};
}

}  // namespace loadprobe
