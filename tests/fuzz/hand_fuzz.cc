// SPDX-License-Identifier: MIT
// Whatever stands in the file of what was set by hand, it is read without fail, its faults are named with their line,
// and what was understood is understood again from what balancectl writes of it.
#include <string>

#include "balance/ground/hand_file.h"
#include "balance/pool/by_hand.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const balance::HandText text = balance::parse_hand_text(fuzz::text_of(bytes, size), "f");
  for (const std::string& fault : text.faults) {
    fuzz::promise(fault.starts_with("f:") && fault.find('\n') == std::string::npos,
                  "a fault is one line with its place");
  }
  std::vector<balance::HandEntry> said;
  for (const balance::HandEntry& entry : text.entries) {
    if (says_anything(entry)) said.push_back(entry);
    const balance::ByHand by_hand{.weight = entry.weight, .duty = entry.duty};
    fuzz::promise(balance::by_hand_of(packed(by_hand)) == by_hand, "an entry is the same in the table");
  }
  const balance::HandText again = balance::parse_hand_text(hand_text_of(text.entries, "c"), "f");
  fuzz::promise(again.faults.empty(), "what we write has no faults");
  fuzz::promise(again.entries == said, "what was understood stays");
  for (balance::HandEntry entry : text.entries) {
    const balance::HandClocks now{.wall = 1796036400, .boot = "3f2a9c81", .booted = 1795000000};
    bring_up_to_date(entry, now);
    const balance::HandEntry once = entry;
    bring_up_to_date(entry, now);
    fuzz::promise(entry == once, "the present time is the present time");
  }
  return 0;
}
