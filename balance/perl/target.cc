// SPDX-License-Identifier: MIT
#include "balance/perl/target.h"

#include <algorithm>
#include <string_view>

#include "balance/perl/members.h"
#include "loadprobe/base/text.h"

namespace balance::perl {
namespace {

// Stands for a variable; the script's own control characters become spaces.
constexpr char kHole = '\1';

std::string with_holes(const Value& value) {
  std::string text;
  for (const Piece& piece : value.pieces) {
    if (piece.is_variable) {
      text += kHole;
      continue;
    }
    for (const char c : piece.text) text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return text;
}

std::string with_names(const Value& value) {
  std::string text;
  for (const Piece& piece : value.pieces) text += piece.text;
  return text;
}

bool is_path_character(char c) {
  constexpr std::string_view kMore = "/._-~%+";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kMore.find(c) != std::string_view::npos;
}

void read_path(std::string_view text, Target& target) {
  for (const char c : text) {
    if (c == kHole) target.path_is_made = true;
    if (!is_path_character(c)) break;
    target.path += c;
  }
  // 'http://host/cgi-bin/mapserv$query': what is behind a whole path is no part of it.
  const bool is_whole = target.path.size() > 1 && target.path.back() != '/';
  if (target.path_is_made && is_whole) target.path_is_made = false;
  if (target.path_is_made && target.path.empty()) target.path = "/";
}

}  // namespace

Target target_of(const Value& value) {
  Target target;
  target.line = value.line;
  target.text = base::printable(with_names(value), 500);
  const std::string text = with_holes(value);
  const std::size_t mark = text.find("://");
  if (mark == std::string::npos) return target;
  target.is_url = true;
  const std::string_view before = std::string_view(text).substr(0, mark);
  if (before.ends_with("https")) target.scheme = "https";
  if (target.scheme.empty() && before.ends_with("http")) target.scheme = "http";
  std::string_view rest = std::string_view(text).substr(mark + 3);
  const std::size_t end = std::min(rest.find_first_of("/?\" '>"), rest.size());
  std::string_view authority = rest.substr(0, end);
  rest.remove_prefix(end);
  const std::size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view port = authority.substr(colon + 1);
    if (is_port(port)) target.port = port;
    authority = authority.substr(0, colon);
  }
  target.host_is_variable = authority.find(kHole) != std::string_view::npos;
  if (target.host_is_variable) {
    std::string_view domain = authority.substr(authority.rfind(kHole) + 1);
    // 'http://$host/path$query' has a hole behind the authority too: that is the path's.
    if (domain.starts_with('.')) domain.remove_prefix(1);
    if (member_of(domain, 0)) target.domain = domain;
  } else {
    target.host = authority;
  }
  read_path(rest, target);
  return target;
}

}  // namespace balance::perl
