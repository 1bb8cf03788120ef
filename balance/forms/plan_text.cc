// SPDX-License-Identifier: MIT
#include "balance/forms/plan_text.h"

#include "loadprobe/base/text.h"

namespace balance::forms {
namespace {

base::Error broken(std::string_view line) {
  return base::Error{base::Fault::input, "the plan's line '" + base::escaped(line, 60) + "' cannot be read"};
}

// Takes the number in front of the first space off `line`.
std::optional<std::size_t> take_number(std::string_view& line) {
  const auto space = line.find(' ');
  const auto number = base::whole_number(line.substr(0, space));
  line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  return number;
}

bool read_edit(std::string_view line, std::size_t file_bytes, Plan& plan) {
  const auto begin = take_number(line);
  const auto end = take_number(line);
  const auto earliest = plan.edits.empty() ? 0 : plan.edits.back().end;
  if (!begin || !end || !line.empty() || *begin < earliest || *end < *begin || *end > file_bytes) return false;
  plan.edits.push_back(Span{*begin, *end});
  return true;
}

bool read_remark(std::string_view line, Weight weight, Plan& plan) {
  const auto number = take_number(line);
  if (!number || line.empty()) return false;
  plan.remarks.push_back(Remark{*number, weight, std::string(line)});
  return true;
}

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text;
  for (const auto edit : plan.edits) {
    text += "edit " + std::to_string(edit.begin) + " " + std::to_string(edit.end) + "\n";
  }
  for (const auto& remark : plan.remarks) {
    text += remark.weight == Weight::note ? "note " : "unsure ";
    text += std::to_string(remark.line) + " " + remark.text + "\n";
  }
  return text + "end\n";
}

base::Result<Plan> parse_plan(std::string_view text, std::size_t file_bytes) {
  Plan plan;
  while (true) {
    const auto feed = text.find('\n');
    const auto line = text.substr(0, feed);
    if (feed == std::string_view::npos) return broken(line);
    text.remove_prefix(feed + 1);
    if (line == "end") return text.empty() ? base::Result<Plan>(std::move(plan)) : broken(text);
    const bool read = line.starts_with("edit ")     ? read_edit(line.substr(5), file_bytes, plan)
                      : line.starts_with("note ")   ? read_remark(line.substr(5), Weight::note, plan)
                      : line.starts_with("unsure ") ? read_remark(line.substr(7), Weight::unsure, plan)
                                                    : false;
    if (!read) return broken(line);
  }
}

}  // namespace balance::forms
