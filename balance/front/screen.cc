// SPDX-License-Identifier: MIT
#include "balance/front/screen.h"

#include <algorithm>
#include <optional>
#include <string>

namespace balance {
namespace {

constexpr std::size_t kHeaderBytes = 8;
constexpr std::size_t kBeginBytes = 8;
enum Type : unsigned { kBegin = 1, kParams = 4, kStdin = 5 };
constexpr unsigned kVersion = 1;
constexpr unsigned kResponder = 1;

unsigned at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

struct Record {
  unsigned version = 0, type = 0, id = 0;
  std::size_t content_bytes = 0, padding_bytes = 0;
};

std::optional<Record> header(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  return Record{at(bytes, 0), at(bytes, 1), at(bytes, 2) << 8 | at(bytes, 3), at(bytes, 4) << 8 | at(bytes, 5),
                at(bytes, 6)};
}

// A length of one byte or four; moves on behind it.
std::optional<std::size_t> take_length(std::string_view& bytes) {
  if (bytes.empty()) return std::nullopt;
  std::size_t length = at(bytes, 0);
  const bool is_long = (length & 0x80U) != 0;
  if (is_long) {
    if (bytes.size() < 4) return std::nullopt;
    length = (length & 0x7fU) << 24 | at(bytes, 1) << 16 | at(bytes, 2) << 8 | at(bytes, 3);
  }
  bytes.remove_prefix(is_long ? 4 : 1);
  return length;
}

bool are_whole_pairs(std::string_view params) {
  while (!params.empty()) {
    const std::optional<std::size_t> name = take_length(params);
    if (!name) return false;
    const std::optional<std::size_t> value = take_length(params);
    if (!value || *name > params.size() || *value > params.size() - *name) return false;
    params.remove_prefix(*name + *value);
  }
  return true;
}

}  // namespace

Screened screen(std::string_view bytes) {
  const std::optional<Record> begin = header(bytes);
  if (!begin) return Screened::incomplete;
  if (begin->version != kVersion || begin->type != kBegin || begin->id == 0 || begin->content_bytes != kBeginBytes) {
    return Screened::refused;
  }
  if (bytes.size() < kHeaderBytes + kBeginBytes) return Screened::incomplete;
  if ((at(bytes, kHeaderBytes) << 8 | at(bytes, kHeaderBytes + 1)) != kResponder) return Screened::refused;
  std::string params;
  bool params_ended = false;
  std::size_t offset = kHeaderBytes + kBeginBytes + begin->padding_bytes;
  while (offset <= bytes.size()) {
    const std::optional<Record> record = header(bytes.substr(offset));
    if (!record) return Screened::incomplete;
    const unsigned wanted = params_ended ? kStdin : kParams;
    if (record->version != kVersion || record->type != wanted || record->id != begin->id) return Screened::refused;
    if (params_ended) return record->content_bytes == 0 ? Screened::without_body : Screened::with_body;
    const std::string_view content = bytes.substr(offset + kHeaderBytes, record->content_bytes);
    params.append(content);
    params_ended = record->content_bytes == 0;
    if (params_ended && !are_whole_pairs(params)) return Screened::refused;
    offset += kHeaderBytes + record->content_bytes + record->padding_bytes;
  }
  return Screened::incomplete;
}

std::size_t HeadExtent::at_least(std::string_view bytes) {
  for (;;) {
    const std::optional<Record> record = header(bytes.substr(record_));
    const std::size_t header_end = record_ + kHeaderBytes;
    if (!record || (record->type != kBegin && record->type != kParams)) return header_end;
    const std::size_t end = header_end + record->content_bytes + record->padding_bytes;
    if (end > bytes.size()) return end;
    record_ = end;
  }
}

}  // namespace balance
