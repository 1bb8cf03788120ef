// SPDX-License-Identifier: MIT
#include "balance/forms/markup.h"

#include <gumbo.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "loadprobe/base/text.h"

namespace balance::forms {
namespace {

constexpr std::size_t kChunk = 1 << 20;
// What they hold reaches the parser's tree as text alone.
constexpr std::string_view kFallback[] = {"noframes", "noembed", "noscript", "iframe"};
constexpr std::string_view kPlain[] = {"textarea", "title", "xmp", "plaintext"};

// Memory that is freed all at once: gumbo frees a tree by recursion, which a deep one takes beyond any stack.
class Arena {
 public:
  void* take(std::size_t bytes) {
    bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    if (bytes > left_) {
      left_ = std::max(bytes, kChunk);
      chunks_.push_back(std::make_unique<std::byte[]>(left_));
      next_ = chunks_.back().get();
    }
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

// Called from C, which an exception must not cross.
void* take_from_arena(void* arena, std::size_t bytes) noexcept { return static_cast<Arena*>(arena)->take(bytes); }
void keep(void* /*arena*/, void* /*memory*/) {}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

std::string tag_name(std::string_view tag) {
  std::size_t end = 1;
  while (end < tag.size() && !is_space(tag[end]) && tag[end] != '/' && tag[end] != '>') ++end;
  return base::lower(tag.substr(1, end - 1));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void read(const GumboNode& root);
  Markup result();

 private:
  void read_element(const GumboElement& element);
  void read_attribute(const GumboAttribute& attribute, Tag& tag);
  void read_region(const GumboElement& element, const Tag& tag);
  bool value_fits(Span name, Span value) const;
  // Nothing for what the parser made up.
  std::optional<Span> place(const GumboStringPiece& piece) const;

  std::string_view text_;
  std::map<std::size_t, Tag> tags_;  // by position: the parser copies unclosed formatting elements
  std::map<std::size_t, Region> regions_;
  std::string doubt_;
};

std::span<void* const> members(const GumboVector& vector) { return {vector.data, vector.length}; }

std::optional<Span> Reader::place(const GumboStringPiece& piece) const {
  if (piece.data == nullptr || piece.length == 0) return std::nullopt;
  const auto* const first = text_.data();
  if (std::less<>()(piece.data, first) || std::less<>()(first + text_.size(), piece.data)) return std::nullopt;
  const auto begin = static_cast<std::size_t>(piece.data - first);
  if (piece.length > text_.size() - begin) return std::nullopt;
  return Span{begin, begin + piece.length};
}

// name = value, value = "value", with white space as you like.
bool Reader::value_fits(Span name, Span value) const {
  auto at = name.end;
  while (at < value.begin && is_space(text_[at])) ++at;
  if (at >= value.begin || text_[at] != '=') return false;
  ++at;
  while (at < value.begin && is_space(text_[at])) ++at;
  if (at != value.begin) return false;
  const auto bytes = text_.substr(value.begin, value.size());
  const char quote = bytes.front();
  if (quote != '"' && quote != '\'') {
    return std::none_of(bytes.begin(), bytes.end(), [](char c) { return is_space(c) || c == '>'; });
  }
  return bytes.size() >= 2 && bytes.find(quote, 1) == bytes.size() - 1;
}

void Reader::read_attribute(const GumboAttribute& attribute, Tag& tag) {
  const auto name = place(attribute.original_name);
  const auto value = place(attribute.original_value);
  // A second <body> gives its attributes to the first: they stand elsewhere, and no tag of ours has them.
  if (!name || !value || !tag.span.holds(*name)) return;
  const auto written = text_.substr(name->begin, name->size());
  // For an attribute without a value the parser gives the name's place.
  if (attribute.value[0] == '\0' && !value_fits(*name, *value)) return;
  if (!tag.span.holds(*value) || !value_fits(*name, *value)) {
    doubt_ = "the value of '" + base::escaped(written, 40) + "' at byte " + std::to_string(name->begin) +
             " is not where the HTML parser says";
    return;
  }
  const bool quoted = text_[value->begin] == '"' || text_[value->begin] == '\'';
  const std::size_t quote = quoted ? 1 : 0;
  tag.attributes.push_back(
      Attribute{base::lower(written), Span{value->begin + quote, value->end - quote}, attribute.value});
}

void Reader::read_region(const GumboElement& element, const Tag& tag) {
  const auto is = [&tag](std::string_view name) { return tag.name == name; };
  Region region;
  if (tag.name == "script") {
    region.kind = Region::Kind::script;
  } else if (tag.name == "style") {
    region.kind = Region::Kind::style;
  } else if (std::any_of(std::begin(kFallback), std::end(kFallback), is)) {
    region.kind = Region::Kind::fallback;
  } else if (std::none_of(std::begin(kPlain), std::end(kPlain), is)) {
    return;
  }
  const auto end = place(element.original_end_tag);
  region.span = Span{tag.span.end, end && end->begin >= tag.span.end ? end->begin : text_.size()};
  regions_.emplace(region.span.begin, region);
}

void Reader::read_element(const GumboElement& element) {
  const auto span = place(element.original_tag);
  if (!span) return;
  const auto written = text_.substr(span->begin, span->size());
  if (written.starts_with("</")) return;  // '</p>' alone makes an element
  if (!written.starts_with('<') || !written.ends_with('>')) {
    doubt_ = "no tag stands at byte " + std::to_string(span->begin) + " where the HTML parser says";
    return;
  }
  Tag tag{tag_name(written), *span, {}};
  for (const void* member : members(element.attributes)) {
    read_attribute(*static_cast<const GumboAttribute*>(member), tag);
  }
  read_region(element, tag);
  tags_.emplace(span->begin, std::move(tag));
}

void Reader::read(const GumboNode& root) {
  std::vector<const GumboNode*> open{&root};
  while (!open.empty()) {
    const GumboNode& node = *open.back();
    open.pop_back();
    const GumboVector* children = nullptr;
    if (node.type == GUMBO_NODE_DOCUMENT) {
      children = &node.v.document.children;
    } else if (node.type == GUMBO_NODE_ELEMENT || node.type == GUMBO_NODE_TEMPLATE) {
      read_element(node.v.element);
      children = &node.v.element.children;
    } else if (node.type == GUMBO_NODE_COMMENT) {
      if (const auto span = place(node.v.text.original_text)) {
        regions_.emplace(span->begin, Region{Region::Kind::comment, *span});
      }
    }
    if (children == nullptr) continue;
    for (const void* child : members(*children)) open.push_back(static_cast<const GumboNode*>(child));
  }
}

Markup Reader::result() {
  Markup markup;
  for (auto& [begin, tag] : tags_) {
    if (!markup.tags.empty() && markup.tags.back().span.end > begin && doubt_.empty()) {
      doubt_ = "two tags overlap at byte " + std::to_string(begin);
    }
    markup.tags.push_back(std::move(tag));
  }
  for (const auto& [begin, region] : regions_) markup.regions.push_back(region);
  markup.doubt = std::move(doubt_);
  return markup;
}

}  // namespace

Markup read_markup(std::string_view text) {
  Arena arena;
  GumboOptions options = kGumboDefaultOptions;
  options.allocator = take_from_arena;
  options.deallocator = keep;
  options.userdata = &arena;
  options.max_errors = 0;
  const GumboOutput* output = gumbo_parse_with_options(&options, text.data(), text.size());
  Reader reader(text);
  reader.read(*output->document);
  return reader.result();
}

}  // namespace balance::forms
