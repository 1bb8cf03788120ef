// SPDX-License-Identifier: MIT
#include "balance/forms/page.h"

#include <algorithm>
#include <array>
#include <utility>

#include "loadprobe/base/text.h"

namespace balance::forms {
namespace {

using Place = std::pair<std::string_view, std::string_view>;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

// Where HTML has a URL that a browser follows or loads.
constexpr std::array<Place, 20> kPlaces = {
    {{"a", "href"},          {"area", "href"},         {"link", "href"},        {"base", "href"},
     {"form", "action"},     {"isindex", "action"},    {"img", "src"},          {"image", "src"},
     {"input", "src"},       {"frame", "src"},         {"iframe", "src"},       {"embed", "src"},
     {"script", "src"},      {"button", "formaction"}, {"input", "formaction"}, {"object", "data"},
     {"body", "background"}, {"table", "background"},  {"td", "background"},    {"th", "background"}}};
bool holds_url(std::string_view tag, std::string_view attribute) {
  return std::find(kPlaces.begin(), kPlaces.end(), Place{tag, attribute}) != kPlaces.end();
}

// Names and texts, no URLs.
constexpr std::array<std::string_view, 10> kNames = {"name",  "id",  "class",  "for",   "target",
                                                     "title", "alt", "usemap", "label", "placeholder"};
bool holds_words(std::string_view attribute) {
  return std::find(kNames.begin(), kNames.end(), attribute) != kNames.end();
}

// Of rising, separate spans.
bool overlaps(const std::vector<Span>& spans, Span span) {
  const auto later =
      std::partition_point(spans.begin(), spans.end(), [span](Span other) { return other.end <= span.begin; });
  return later != spans.end() && later->begin < span.end;
}

// The one of these rising, separate ranges that holds the offset, or nothing.
template <class Range, class SpanOf>
const Range* holder(const std::vector<Range>& ranges, std::size_t offset, SpanOf span_of) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), offset,
                                [&span_of](std::size_t at, const Range& range) { return at < span_of(range).begin; });
  return after != ranges.begin() && span_of(*--after).holds(offset) ? &*after : nullptr;
}

}  // namespace

Lines::Lines(std::string_view text) {
  for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ends_.push_back(at);
}

std::size_t Lines::at(std::size_t offset) const {
  return static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), offset) - ends_.begin()) + 1;
}

Page::Page(std::string_view bytes, const Rules& rules)
    : bytes_(bytes),
      rules_(rules),
      masked_(mask(bytes)),
      markup_(read_markup(masked_.text)),
      mentions_(mentions(bytes, rules.scripts)),
      lines_(bytes),
      is_template_(is_map_template(bytes)),
      doubt_(markup_.doubt) {}

void Page::say(std::size_t offset, Weight weight, std::string text) {
  plan_.remarks.push_back(Remark{lines_.at(offset), weight, std::move(text)});
}

// '<form action="/cgi-bin/mapserv?...">', the value as it stands, cut to a line.
std::string Page::shown(const Value& value) const {
  return "<" + base::escaped(value.tag.name, 20) + " " + value.attribute.name + "> '" +
         base::escaped(text(value.attribute.value), 60) + "'";
}

bool Page::names_script(Span span) const {
  const auto first = std::lower_bound(mentions_.begin(), mentions_.end(), span.begin);
  return first != mentions_.end() && *first < span.end;
}

const Attribute* Page::attribute_of(const Tag& tag, std::string_view name) const {
  const auto found = std::find_if(tag.attributes.begin(), tag.attributes.end(),
                                  [name](const Attribute& attribute) { return attribute.name == name; });
  return found == tag.attributes.end() ? nullptr : &*found;
}

Page::Value Page::value_of(const Tag& tag, const Attribute& attribute) const {
  Span url = attribute.value;
  while (url.size() > 0 && is_space(bytes_[url.begin])) ++url.begin;
  while (url.size() > 0 && is_space(bytes_[url.end - 1])) --url.end;
  // Looked for in the masked text: a '?' of '<?php' ends no path.
  const auto masked = std::string_view(masked_.text).substr(url.begin, url.size());
  const auto length = std::min(masked.find_first_of("?#"), masked.size());
  return Value{tag, attribute, url, Span{url.begin, url.begin + length}};
}

void Page::judge(const Value& value) {
  const auto written = text(value.head);
  if (comes_back(written, rules_)) {
    settled_[value.attribute.value.begin] = Settled::edited;
    return;
  }
  const auto head = read_head(written);
  if (head.kind == Head::Kind::relative || head.kind == Head::Kind::absolute) {
    if (judge_script(value, head)) return;
  }
  judge_unclear(value, head);
}

// Whether it is a script's URL, and then edits it or says why not.
bool Page::judge_script(const Value& value, const Head& head) {
  const auto length = script_length(head.path, rules_.scripts);
  if (!length) return false;
  auto& settled = settled_[value.attribute.value.begin] = Settled::said;
  auto authority = std::string(head.authority);
  if (authority.empty() && base_ != nullptr) {
    authority = read_head(text(value_of(*base_, *attribute_of(*base_, "href")).head)).authority;
  }
  if (value.tag.name == "base") {
    say(value.url.begin, Weight::unsure, shown(value) + ": every relative URL of the page hangs on it");
  } else if (!authority.empty() && !is_ours(authority, rules_)) {
    say(value.url.begin, Weight::note, shown(value) + " is kept: it is on another host");
  } else if (!base::trim(value.attribute.decoded).starts_with(text(value.head))) {
    doubt_ = "the HTML parser reads " + shown(value) + " otherwise than its bytes say";
  } else {
    const auto path = static_cast<std::size_t>(head.path.data() - bytes_.data());
    plan_.edits.push_back(Span{value.url.begin, path + *length});
    settled = Settled::edited;
  }
  return true;
}

void Page::judge_unclear(const Value& value, const Head& head) {
  const bool is_action = value.attribute.name == "action" || value.attribute.name == "formaction";
  const bool by_program = overlaps(masked_.programs, value.head);
  const bool by_template = overlaps(masked_.tags, value.head);
  std::string why;
  if (names_script(value.attribute.value)) {
    why = by_program                                             ? "is put together by a program"
          : by_template                                          ? "is filled in by mapserv"
          : head.kind == Head::Kind::foreign                     ? "is no web address"
          : text(value.head).find('&') != std::string_view::npos ? "has character references in its path"
                                                                 : "names the script, but is no plain URL of it";
  } else if (is_template_ && by_template && is_action) {
    why = "is filled in by mapserv";
  } else if (is_template_ && value.head.size() == 0 &&
             (value.url.size() == 0 ? is_action : bytes_[value.url.begin] == '?')) {
    why = "goes to the page's own address, after a redirect that is the host's";
  }
  if (!why.empty()) {
    settled_[value.attribute.value.begin] = Settled::said;
    say(value.url.begin, Weight::unsure, shown(value) + " " + why);
  } else if (by_program && is_action) {
    say(value.url.begin, Weight::note, shown(value) + " is put together by a program: see whether it names mapserv");
  }
}

void Page::judge_form(const Tag& tag) {
  const auto* const action = attribute_of(tag, "action");
  const auto* const method = attribute_of(tag, "method");
  if (action == nullptr && is_template_) {
    say(tag.span.begin, Weight::unsure,
        "<form> without action goes to the page's own address, after a redirect that is the host's");
  }
  if (action == nullptr || method == nullptr || !base::same_ignoring_case(base::trim(method->decoded), "post")) return;
  const auto settled = settled_.find(action->value.begin);
  if (settled == settled_.end() || settled->second != Settled::edited) return;
  say(tag.span.begin, Weight::note,
      "<form method=post>: the balancer relays a POST or answers 307, method=get takes the shorter way");
}

void Page::judge_tag(const Tag& tag) {
  for (const auto& attribute : tag.attributes) {
    if (holds_url(tag.name, attribute.name)) judge(value_of(tag, attribute));
  }
  if (tag.name == "form") judge_form(tag);
}

void Page::judge_in_tag(const Tag& tag, std::size_t offset) {
  const auto inside = [offset](const Attribute& attribute) { return attribute.value.holds(offset); };
  const auto found = std::find_if(tag.attributes.begin(), tag.attributes.end(), inside);
  if (found == tag.attributes.end()) {
    say(offset, Weight::note,
        "a second attribute of the same name in <" + base::escaped(tag.name, 20) +
            ">, which browsers ignore, names the script");
    return;
  }
  const auto settled = settled_.find(found->value.begin);
  if (settled == settled_.end()) {
    if (holds_words(found->name)) return;
    say(offset, Weight::unsure, shown(value_of(tag, *found)) + " names the script");
  } else if (settled->second == Settled::edited && offset >= value_of(tag, *found).head.end) {
    say(offset, Weight::note, shown(value_of(tag, *found)) + ": its query names a script too and is kept");
  }
}

// Within a '<word ...' of which the parser made nothing.
bool Page::in_dropped_tag(std::size_t offset) const {
  const auto mark = masked_.text.find_last_of("<>", offset);
  if (mark == std::string::npos || masked_.text[mark] != '<' || mark + 1 >= masked_.text.size()) return false;
  return !is_space(masked_.text[mark + 1]) || overlaps(masked_.programs, Span{mark + 1, mark + 2});
}

void Page::judge_mention(std::size_t offset) {
  if (holder(masked_.programs, offset, [](Span span) { return span; }) != nullptr) {
    return say(offset, Weight::unsure, "a program (<? ?> or <% %>) names the script");
  }
  const auto span_of = [](const auto& range) { return range.span; };
  if (const auto* tag = holder(markup_.tags, offset, span_of)) return judge_in_tag(*tag, offset);
  const auto* const region = holder(markup_.regions, offset, span_of);
  if (region == nullptr) {
    if (in_dropped_tag(offset))
      say(offset, Weight::unsure, "a tag that browsers drop where it stands names the script");
    return;
  }
  switch (region->kind) {
    case Region::Kind::comment:
      if (text(region->span).starts_with("<!--#")) {
        return say(offset, Weight::unsure, "a server-side include names the script");
      }
      return say(offset, Weight::note, "a comment names the script");
    case Region::Kind::script:
      return say(offset, Weight::unsure, "JavaScript names the script");
    case Region::Kind::style:
      return say(offset, Weight::unsure, "a style sheet names the script");
    case Region::Kind::fallback:
      return say(offset, Weight::unsure, "text for old browsers (noframes, iframe) names the script");
    case Region::Kind::plain:
      return;
  }
}

Plan Page::plan() && {
  const auto is_base = [this](const Tag& tag) { return tag.name == "base" && attribute_of(tag, "href") != nullptr; };
  const auto base = std::find_if(markup_.tags.begin(), markup_.tags.end(), is_base);
  if (base != markup_.tags.end()) base_ = &*base;
  for (const auto& tag : markup_.tags) judge_tag(tag);
  for (const auto offset : mentions_) judge_mention(offset);
  if (!doubt_.empty()) return Plan{{}, {Remark{0, Weight::unsure, doubt_}}};
  std::sort(plan_.edits.begin(), plan_.edits.end(), [](Span a, Span b) { return a.begin < b.begin; });
  if (base_ != nullptr && !plan_.edits.empty()) {
    say(base_->span.begin, Weight::note,
        shown(value_of(*base_, *attribute_of(*base_, "href"))) +
            ": relative URLs that name the script hung on it, now they do not");
  }
  const auto by_line = [](const Remark& a, const Remark& b) { return a.line < b.line; };
  std::stable_sort(plan_.remarks.begin(), plan_.remarks.end(), by_line);
  plan_.remarks.erase(std::unique(plan_.remarks.begin(), plan_.remarks.end()), plan_.remarks.end());
  return std::move(plan_);
}

}  // namespace balance::forms
