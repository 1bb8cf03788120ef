// SPDX-License-Identifier: MIT
#include "balance/forms/masking.h"

#include <algorithm>

#include "loadprobe/base/text.h"

namespace balance::forms {
namespace {

constexpr auto kNowhere = std::string_view::npos;
constexpr std::size_t kMostTagBytes = 2000;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == ':' || c == '.'; }

char printable(char c) {
  if (c == '\n') return c;
  // An unquoted value that begins with a character reference gets a wrong position from the parser; nobody needs them.
  if (c == '&') return 'x';
  return c > ' ' && c < '\x7F' ? c : (static_cast<unsigned char>(c) >= 0x80 ? 'x' : ' ');
}

// The end of a server's block that begins at `at`, or `at`.
std::size_t program_end(std::string_view page, std::size_t at) {
  const auto rest = page.substr(at);
  const bool hypertext = rest.starts_with("<?");
  if (!hypertext && !rest.starts_with("<%")) return at;
  const auto close = page.find(hypertext ? "?>" : "%>", at + 2);
  if (close != kNowhere) return close + 2;
  // PHP may leave its last block open; any other '<?' or '<%' is not a program's.
  const auto word = base::lower(rest.substr(2, 3));
  return hypertext && (word == "php" || word.starts_with('=')) ? page.size() : at;
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

std::size_t skip_name(std::string_view text, std::size_t at) {
  while (at < text.size() && is_name(text[at])) ++at;
  return at;
}

std::size_t skip_value(std::string_view text, std::size_t at) {
  if (at == text.size()) return kNowhere;
  if (text[at] != '"' && text[at] != '\'') return skip_name(text, at);
  const auto close = text.find(text[at], at + 1);
  return close == kNowhere ? kNowhere : close + 1;
}

// What may stand in '[fd00::7]', the host of a URL.
bool is_address(std::string_view name) {
  return name.find(':') != name.rfind(':') && name.find_first_not_of("0123456789abcdefABCDEF:.") == kNowhere;
}

// The end of a MapServer tag '[name key="value" ...]' that begins at `at`, or `at`. Its quotes end no attribute.
std::size_t tag_end(std::string_view page, std::size_t at) {
  const auto text = page.substr(at, kMostTagBytes);
  std::size_t here = text.starts_with("[/") ? 2 : 1;
  if (here >= text.size() || (!is_letter(text[here]) && text[here] != '_')) return at;
  const auto name = here;
  here = skip_name(text, here);
  if (is_address(text.substr(name, here - name))) return at;
  while (here < text.size() && text[here] != ']') {
    const auto key = skip_spaces(text, here);
    if (key < text.size() && text[key] == ']') return at + key + 1;
    const auto after = skip_name(text, key);
    if (key == here || after == key) return at;
    here = after;
    if (here < text.size() && text[here] == '=') here = skip_value(text, here + 1);
    if (here == kNowhere) return at;
  }
  return here < text.size() ? at + here + 1 : at;
}

// Inside a start tag filler must be part of a word, or an unquoted value would vanish and the next attribute become it;
// but next to the tag's name, and in text (which would end a <head> or forbid a <frameset>), it must be space.
class Filler {
 public:
  explicit Filler(std::string& text) : text_(text) {}

  void seen(char c) {
    if (c == '<') place_ = Place::name;
    if (c == '>') place_ = Place::text;
    if (place_ == Place::name && c != '<' && c != '/' && !is_letter(c) && !is_digit(c)) place_ = Place::tag;
  }
  void fill(Span span) {
    std::fill(text_.begin() + static_cast<std::ptrdiff_t>(span.begin),
              text_.begin() + static_cast<std::ptrdiff_t>(span.end), place_ == Place::tag ? 'x' : ' ');
    if (place_ == Place::name) place_ = Place::tag;
  }

 private:
  enum class Place { text, name, tag };
  std::string& text_;
  Place place_ = Place::text;
};

}  // namespace

Masked mask(std::string_view page) {
  Masked masked;
  masked.text.assign(page);
  Filler filler(masked.text);
  std::size_t at = page.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  filler.fill({0, at});
  while (at < page.size()) {
    const char c = page[at];
    const auto program = c == '<' ? program_end(page, at) : at;
    const auto tag = c == '[' ? tag_end(page, at) : at;
    const Span span{at, std::max(program, tag)};
    if (span.size() > 0) {
      (program > at ? masked.programs : masked.tags).push_back(span);
      filler.fill(span);
      at = span.end;
      continue;
    }
    masked.text[at] = printable(c);
    filler.seen(masked.text[at]);
    ++at;
  }
  return masked;
}

std::string unreadable(std::string_view page) {
  if (page.starts_with("\xFF\xFE") || page.starts_with("\xFE\xFF")) return "it is UTF-16 or UTF-32";
  if (page.find('\0') != kNowhere) return "it holds NUL bytes (UTF-16 without a mark, or no text)";
  if (page.find("\x1B$") != kNowhere || page.find("\x1B(") != kNowhere) return "it is ISO 2022 text";
  const auto text = base::lower(page.substr(0, 4096));
  if (text.find("charset=utf-7") != kNowhere || text.find("charset=\"utf-7") != kNowhere) return "it is UTF-7";
  if (text.find("charset=hz-gb-2312") != kNowhere || text.find("charset=\"hz-gb") != kNowhere) return "it is HZ text";
  return "";
}

bool is_map_template(std::string_view page) {
  const auto first = base::lower(page.substr(0, page.find('\n')).substr(0, 200));
  return first.find("mapserver template") != kNowhere;
}

}  // namespace balance::forms
