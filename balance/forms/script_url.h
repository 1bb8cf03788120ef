// SPDX-License-Identifier: MIT
// Which URLs in a page name the map script, and where else in a text its name stands.
// Floor 1: pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace balance::forms {

// Half-open range of byte offsets in a file.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool holds(std::size_t offset) const { return begin <= offset && offset < end; }
  bool holds(Span other) const { return begin <= other.begin && other.end <= end; }
};

struct Rules {
  std::string to;                    // the balancer's URL as it is to stand in pages: scheme, authority, path
  std::vector<std::string> scripts;  // patterns, see script_length()
  std::vector<std::string> hosts;    // whose absolute URLs are ours, 'name' or 'name:port'; empty: everybody's
};

// mapserv, mapserv.exe and mapserv.fcgi, as the last part of a path or below cgi-bin.
std::vector<std::string> default_scripts();

// How many bytes of `path` go up to the end of the script, or nothing if none of the patterns (shell globs, case
// ignored) fits. A pattern without '/' is compared with the last part of the path; one with '/' fits its parts in a row
// anywhere, and path information may follow.
std::optional<std::size_t> script_length(std::string_view path, const std::vector<std::string>& scripts);

// The beginning of a URL: what stands before its query and fragment.
struct Head {
  enum class Kind {
    relative,  // no authority: 'mapserv', '../cgi-bin/mapserv', '/cgi-bin/mapserv'
    absolute,  // http, https or none in front of '//authority'
    foreign,   // another scheme, 'javascript:'
    unclear,   // holds bytes that a plain URL does not, or a user name: templates, entities, spaces
  };
  Kind kind = Kind::unclear;
  std::string_view authority;
  std::string_view path;
};
// `text` has neither query nor fragment.
Head read_head(std::string_view text);

// Whether `authority` ('name', 'name:port', '[::1]:80') is one of the rules' hosts, or theirs to name none.
bool is_ours(std::string_view authority, const Rules& rules);

// Whether `text` (without query and fragment) is the balancer's URL already, path information allowed.
bool comes_back(std::string_view text, const Rules& rules);

// Where a script is named in any text (JavaScript, PHP, attributes), in rising order. A bare 'mapserv' counts only
// before '?' or alone between quotes that are not an index or an argument (forms are often named so); MapServer's own
// [program] and [..._onlineresource] count always.
std::vector<std::size_t> mentions(std::string_view text, const std::vector<std::string>& scripts);

}  // namespace balance::forms
