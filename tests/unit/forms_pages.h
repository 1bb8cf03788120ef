// SPDX-License-Identifier: MIT
// Pages and what a plan makes of them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "balance/forms/rewrite.h"
#include "tests/unit/files.h"

namespace balance::forms {

using Texts = std::vector<std::string>;

inline constexpr char kTo[] = "https://maps.example.org/cgi-bin/mapserv";

inline Rules rules() { return Rules{kTo, default_scripts(), {}}; }

inline std::string data(const std::string& name) { return text_of("tests/data/forms/" + name); }

inline Texts replaced(const std::string& page, const Plan& plan) {
  Texts texts;
  for (const auto edit : plan.edits) texts.push_back(page.substr(edit.begin, edit.size()));
  return texts;
}

inline Texts remarks(const Plan& plan, Weight weight) {
  Texts texts;
  for (const auto& remark : plan.remarks) {
    if (remark.weight == weight) texts.push_back(std::to_string(remark.line) + " " + remark.text);
  }
  return texts;
}

inline std::vector<std::size_t> lines(const Plan& plan, Weight weight) {
  std::vector<std::size_t> found;
  for (const auto& remark : plan.remarks) {
    if (remark.weight == weight) found.push_back(remark.line);
  }
  return found;
}

// Cuts page and result apart at the edits: what stands between must be equal, what stands in them must be the URL. Then
// a second run must find nothing.
inline Plan sound_plan(const std::string& page, const std::string& path = "page.html", const Rules& by = rules()) {
  const auto first = plan(path, page, by);
  const auto result = rewritten(page, first.edits, by.to);
  std::size_t in_page = 0;
  std::size_t in_result = 0;
  for (const auto edit : first.edits) {
    const auto between = edit.begin - in_page;
    EXPECT_EQ(page.substr(in_page, between), result.substr(in_result, between));
    in_result += between;
    EXPECT_EQ(result.substr(in_result, by.to.size()), by.to);
    in_result += by.to.size();
    in_page = edit.end;
  }
  EXPECT_EQ(page.substr(in_page), result.substr(in_result));
  const auto second = plan(path, result, by);
  EXPECT_TRUE(second.edits.empty());
  EXPECT_EQ(remarks(second, Weight::unsure).size(), remarks(first, Weight::unsure).size());
  return first;
}

inline Texts replaced(const std::string& page) { return replaced(page, sound_plan(page)); }

}  // namespace balance::forms
