// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/xml.h"

#include <algorithm>

namespace balance {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

void skip_space(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
}

enum class Taken : std::uint8_t { no, yes, torn };

// Takes `begin` ... `end` from the front of the text. Torn: it may begin so, but the text ends before it is over.
Taken take(std::string_view& text, std::string_view begin, std::string_view end) {
  if (text.size() < begin.size() && begin.starts_with(text)) return Taken::torn;
  if (!text.starts_with(begin)) return Taken::no;
  const std::size_t at = text.find(end, begin.size());
  if (at == std::string_view::npos) return Taken::torn;
  text.remove_prefix(at + end.size());
  return Taken::yes;
}

Taken take_document_type(std::string_view& text) {
  const std::string_view before = text;
  const Taken taken = take(text, "<!DOCTYPE", ">");
  if (taken != Taken::yes) return taken;
  const std::string_view inside = before.substr(0, before.size() - text.size());
  if (inside.find('[') == std::string_view::npos) return Taken::yes;
  text = before;
  return Taken::no;
}

}  // namespace

namespace {
constexpr Root kMayCome{{}, true};
}

Root xml_root(std::string_view text, DocumentType document_type) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of UTF-8
  if (text.size() < kMark.size() && kMark.starts_with(text)) return kMayCome;
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  for (Taken taken = Taken::yes; taken == Taken::yes;) {
    skip_space(text);
    if (text.empty()) return kMayCome;
    taken = take(text, "<?", "?>");
    if (taken == Taken::no) taken = take(text, "<!--", "-->");
    if (taken == Taken::no && document_type == DocumentType::skipped) taken = take_document_type(text);
    if (taken == Taken::torn) return kMayCome;
  }
  if (!text.starts_with('<')) return {};
  text.remove_prefix(1);
  const auto* const end = std::ranges::find_if(text, [](char c) { return is_space(c) || c == '>' || c == '/'; });
  if (text.starts_with('!')) return {};
  if (end == text.end()) return kMayCome;  // a name that runs to the end of what is known may go on
  std::string_view name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) name.remove_prefix(colon + 1);
  return {name};
}

}  // namespace balance
