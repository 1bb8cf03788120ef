// SPDX-License-Identifier: MIT
#include "balance/forms/diff.h"

#include <algorithm>

namespace balance::forms {
namespace {

constexpr std::size_t kContext = 3;

// A changed line, and its text afterwards.
struct Change {
  std::size_t line;  // from 0
  std::string after;
};

std::vector<Span> lines_of(std::string_view bytes) {
  std::vector<Span> lines;
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const auto feed = bytes.find('\n', begin);
    const auto end = feed == std::string_view::npos ? bytes.size() : feed + 1;
    lines.push_back(Span{begin, end});
    begin = end;
  }
  return lines;
}

std::vector<Change> changes_of(std::string_view bytes, const std::vector<Span>& lines, const std::vector<Span>& edits,
                               std::string_view to) {
  std::vector<Change> changes;
  auto edit = edits.begin();
  for (std::size_t line = 0; line < lines.size() && edit != edits.end(); ++line) {
    if (edit->begin >= lines[line].end) continue;
    std::string after;
    auto at = lines[line].begin;
    for (; edit != edits.end() && edit->begin < lines[line].end; ++edit) {
      after.append(bytes.substr(at, edit->begin - at)).append(to);
      at = edit->end;
    }
    after.append(bytes.substr(at, lines[line].end - at));
    changes.push_back(Change{line, std::move(after)});
  }
  return changes;
}

void put(std::string& out, char mark, std::string_view line) {
  out.append(1, mark).append(line);
  if (!line.ends_with('\n')) out.append("\n\\ No newline at end of file\n");
}

std::string range(std::size_t first, std::size_t count) {
  return std::to_string(first + 1) + (count == 1 ? "" : "," + std::to_string(count));
}

class Writer {
 public:
  Writer(std::string_view bytes, const std::vector<Span>& lines, const std::vector<Change>& changes)
      : bytes_(bytes), lines_(lines), changes_(changes) {}

  // The hunk that begins with change `first`; what it returns begins the next one.
  std::size_t hunk(std::size_t first, std::string& out) const {
    std::size_t past = first + 1;
    while (past < changes_.size() && changes_[past].line - changes_[past - 1].line <= 2 * kContext + 1) ++past;
    const auto begin = changes_[first].line - std::min(changes_[first].line, kContext);
    const auto end = std::min(changes_[past - 1].line + kContext + 1, lines_.size());
    const auto where = range(begin, end - begin);
    out.append("@@ -" + where + " +" + where + " @@\n");
    auto line = begin;
    for (auto at = first; at < past;) {
      for (; line < changes_[at].line; ++line) put(out, ' ', text(line));
      const auto run = run_from(at, past);
      for (auto same = at; same < run; ++same) put(out, '-', text(changes_[same].line));
      for (auto same = at; same < run; ++same) put(out, '+', changes_[same].after);
      line = changes_[run - 1].line + 1;
      at = run;
    }
    for (; line < end; ++line) put(out, ' ', text(line));
    return past;
  }

 private:
  // Changed lines that follow one another stand together.
  std::size_t run_from(std::size_t at, std::size_t past) const {
    auto run = at + 1;
    while (run < past && changes_[run].line == changes_[run - 1].line + 1) ++run;
    return run;
  }
  std::string_view text(std::size_t line) const { return bytes_.substr(lines_[line].begin, lines_[line].size()); }

  std::string_view bytes_;
  const std::vector<Span>& lines_;
  const std::vector<Change>& changes_;
};

}  // namespace

std::string unified_diff(std::string_view name, std::string_view bytes, const std::vector<Span>& edits,
                         std::string_view to) {
  if (edits.empty()) return "";
  const auto lines = lines_of(bytes);
  const auto changes = changes_of(bytes, lines, edits, to);
  // A tab ends the name, so that one with spaces is read whole.
  std::string out = "--- " + std::string(name) + "\t\n+++ " + std::string(name) + "\t\n";
  const Writer writer(bytes, lines, changes);
  for (std::size_t next = 0; next < changes.size();) next = writer.hunk(next, out);
  return out;
}

}  // namespace balance::forms
