// SPDX-License-Identifier: MIT
// One page being judged: every attribute that holds a URL, then every other place that names a script.
// Floor 1: plain values; what is given must outlive it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "balance/forms/markup.h"
#include "balance/forms/masking.h"
#include "balance/forms/rewrite.h"

namespace balance::forms {

// Line numbers from 1, by line feeds.
class Lines {
 public:
  explicit Lines(std::string_view text);
  std::size_t at(std::size_t offset) const;

 private:
  std::vector<std::size_t> ends_;
};

class Page {
 public:
  Page(std::string_view bytes, const Rules& rules);

  Plan plan() &&;

 private:
  // An attribute that holds a URL, its white space at the ends taken off.
  struct Value {
    const Tag& tag;
    const Attribute& attribute;
    Span url;
    Span head;  // up to '?' or '#'
  };
  enum class Settled { edited, said };

  void judge_tag(const Tag& tag);
  void judge_form(const Tag& tag);
  void judge(const Value& value);
  bool judge_script(const Value& value, const Head& head);
  void judge_unclear(const Value& value, const Head& head);
  void judge_mention(std::size_t offset);
  void judge_in_tag(const Tag& tag, std::size_t offset);
  Value value_of(const Tag& tag, const Attribute& attribute) const;
  const Attribute* attribute_of(const Tag& tag, std::string_view name) const;
  bool names_script(Span span) const;
  bool in_dropped_tag(std::size_t offset) const;
  std::string_view text(Span span) const { return bytes_.substr(span.begin, span.size()); }
  void say(std::size_t offset, Weight weight, std::string text);
  std::string shown(const Value& value) const;

  std::string_view bytes_;
  const Rules& rules_;
  Masked masked_;
  Markup markup_;
  std::vector<std::size_t> mentions_;
  Lines lines_;
  const Tag* base_ = nullptr;
  bool is_template_;
  std::string doubt_;
  Plan plan_;
  std::map<std::size_t, Settled> settled_;  // by the beginning of an attribute's value
};

}  // namespace balance::forms
