// SPDX-License-Identifier: MIT
// Perl source as a list of tokens, as far as a configuration in it is concerned. Nothing is run. Floor 1: pure
// functions over text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace balance::perl {

enum class Kind : std::uint8_t {
  word,      // foreach, rup, CGI, =>-quoted keys
  number,    // 80, 1_000
  text,      // '...', q(...): as it is
  mixed,     // "...", qq(...), here-documents: variables and escapes are still in it
  words,     // qw(...)
  pattern,   // m//, qr//, s///, tr///: `text`, and what replaces it in `other`
  command,   // `...`, qx(...)
  variable,  // $x, @x, %x, $#x with its sign; ${x} and $main::x are $x
  mark,      // an operator or a bracket
  comment,   // what stands behind '#'
};

struct Token {
  Kind kind = Kind::mark;
  std::string text;
  std::vector<std::string> words;
  std::string other;
  std::size_t line = 0;
};

struct Tokens {
  std::vector<Token> list;      // without comments
  std::vector<Token> comments;  // in order
  std::string fault;            // "", or what ends too late: a string without an end
  std::size_t fault_line = 0;
  std::size_t end_line = 0;  // of __END__ or __DATA__: what follows was not looked at; 0: there is none
};

// Never fails: where the text cannot be told, the rest of it is left out and `fault` says so.
Tokens tokens_of(std::string_view text);

}  // namespace balance::perl
