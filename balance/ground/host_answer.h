// SPDX-License-Identifier: MIT
// MapServer says of most of its failures that all is well (status 200). Whether a host's answer is a failure, and whose
// fault it is, by status, content type and first bytes. Floor 1: pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "balance/ground/relay_response.h"
#include "balance/ground/request.h"
#include "balance/ground/retry.h"

namespace balance {

// What the client wants to see.
enum class Wanted : std::uint8_t {
  picture,   // of a type that begins with known bytes, or image/*
  anything,  // a document, a page, data; a picture in the form of a page (format=application/openlayers)
};
Wanted wanted_by(const Request& request);

// Whose fault an answer is. The client's goes through like a good one.
enum class Answered : std::uint8_t { fine, client_fault, host_fault };

struct Judgement {
  Answered answered = Answered::fine;
  Relayed relayed = Relayed::fine;  // for the host's standing; fine for a client's fault
  std::string why;                  // one phrase: 'MapServer Message instead of a picture'; "" for fine
};

// So many bytes of the body at most are held back until there is a judgement.
inline constexpr std::size_t kMostHeldBytes = 4096;

enum class Rest : std::uint8_t { more_may_come, none };
// Judges by the head and the first bytes of the body, as they came (`held`; `rest`: whether they are all). Nothing:
// more bytes are needed; never with kMostHeldBytes or with Rest::none. A picture is judged by its first few bytes, a
// head that is beyond suspicion by none. An encoded body (Content-Encoding) is not read.
std::optional<Judgement> judge(Wanted wanted, const HostHead& head, std::string_view held, Rest rest);

}  // namespace balance
