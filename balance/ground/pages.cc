// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/pages.h"

#include <algorithm>
#include <cassert>

namespace balance {
namespace {

constexpr std::string_view kUnavailable =
#include "reply/unavailable.html.inc"
    ;
constexpr std::string_view kLoopDetected =
#include "reply/loop_detected.html.inc"
    ;
constexpr std::string_view kBadRequest =
#include "reply/bad_request.html.inc"
    ;
constexpr std::string_view kInternalError =
#include "reply/internal_error.html.inc"
    ;

std::string_view text_of(Page which) {
  switch (which) {
    case Page::unavailable:
      return kUnavailable;
    case Page::loop_detected:
      return kLoopDetected;
    case Page::bad_request:
      return kBadRequest;
    case Page::internal_error:
      return kInternalError;
  }
  return {};
}

}  // namespace

std::string page(Page which, std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string out;
  std::string_view rest = text_of(which);
  for (;;) {
    const std::size_t begin = rest.find("{{");
    out += rest.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = rest.find("}}", begin);
    assert(end != std::string_view::npos);
    const std::string_view name = rest.substr(begin + 2, end - begin - 2);
    const auto* value = std::find_if(values.begin(), values.end(), [name](const auto& v) { return v.first == name; });
    assert(value != values.end());
    out += html_escaped(value->second);
    rest.remove_prefix(end + 2);
  }
}

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace balance
