// SPDX-License-Identifier: MIT
#include "balance/forms/rewrite.h"

#include <algorithm>
#include <array>

#include "balance/forms/map_lines.h"
#include "balance/forms/page.h"
#include "loadprobe/base/text.h"

namespace balance::forms {
namespace {

constexpr std::array<std::string_view, 16> kEndings = {".html", ".htm",  ".xhtml", ".shtml", ".shtm",  ".tmpl",
                                                       ".tpl",  ".map",  ".php",   ".php3",  ".phtml", ".inc",
                                                       ".asp",  ".aspx", ".jsp",   ".js"};

bool ends_with(std::string_view path, std::string_view ending) {
  return path.size() > ending.size() && base::same_ignoring_case(path.substr(path.size() - ending.size()), ending);
}

std::string without_nul(std::string_view bytes) {
  std::string text(bytes);
  text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
  return text;
}

Plan refusal(std::string why) { return Plan{{}, {Remark{0, Weight::unsure, std::move(why)}}}; }

}  // namespace

Plan plan_script(std::string_view text, const Rules& rules) {
  Plan plan;
  const Lines lines(text);
  for (const auto offset : mentions(text, rules.scripts)) {
    plan.remarks.push_back(Remark{lines.at(offset), Weight::unsure, "JavaScript names the script"});
  }
  plan.remarks.erase(std::unique(plan.remarks.begin(), plan.remarks.end()), plan.remarks.end());
  return plan;
}

Plan plan_page(std::string_view page, const Rules& rules) {
  if (mentions(page, rules.scripts).empty() && !is_map_template(page)) return {};
  return Page(page, rules).plan();
}

Plan plan(std::string_view path, std::string_view bytes, const Rules& rules) {
  if (const auto why = unreadable(bytes); !why.empty()) {
    // A picture or an archive that names nothing is no matter of ours.
    return mentions(without_nul(bytes), rules.scripts).empty() ? Plan{} : refusal(why);
  }
  if (ends_with(path, ".map")) return plan_map(bytes, rules);
  if (ends_with(path, ".js")) return plan_script(bytes, rules);
  return plan_page(bytes, rules);
}

bool is_page_name(std::string_view path) {
  if (ends_with(path, ".js.map") || ends_with(path, ".css.map")) return false;
  return std::any_of(kEndings.begin(), kEndings.end(), [path](std::string_view end) { return ends_with(path, end); });
}

std::string rewritten(std::string_view bytes, const std::vector<Span>& edits, std::string_view to) {
  std::string text;
  text.reserve(bytes.size() + edits.size() * to.size());
  std::size_t at = 0;
  for (const auto edit : edits) {
    text.append(bytes.substr(at, edit.begin - at)).append(to);
    at = edit.end;
  }
  return text.append(bytes.substr(at));
}

}  // namespace balance::forms
