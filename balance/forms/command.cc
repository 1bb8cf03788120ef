// SPDX-License-Identifier: MIT
#include "balance/forms/command.h"

#include <sys/stat.h>

#include <boost/program_options.hpp>
#include <ostream>
#include <set>

#include "balance/forms/child.h"
#include "balance/forms/diff.h"
#include "balance/forms/files.h"
#include "balance/forms/plan_text.h"
#include "balance/forms/rewrite.h"
#include "balance/ground/url.h"

namespace balance::forms {
namespace {

namespace po = boost::program_options;

constexpr char kUsage[] =
    "usage: balancectl forms --to URL [--dry-run] [-r] [--match PATTERN]... [--host NAME]... FILE...\n";

enum class Action { rewrite, show };
enum class Folders { refuse, walk };

struct Order {
  Rules rules;
  Action action = Action::rewrite;
  Folders folders = Folders::refuse;
  std::vector<std::string> paths;
};

po::options_description options() {
  po::options_description all("Options");
  auto add = all.add_options();
  add("to", po::value<std::string>()->value_name("URL"), "the balancer's URL, as clients see it");
  add("dry-run,n", "change nothing, print a unified diff");
  add("recursive,r", "take folders with all pages below them");
  add("match", po::value<std::vector<std::string>>()->value_name("PATTERN"), "another script than mapserv[.exe|.fcgi]");
  add("host", po::value<std::vector<std::string>>()->value_name("NAME"), "take only this host's absolute URLs");
  add("help,h", "show this");
  return all;
}

base::Error usage(std::string what) { return base::Error{base::Fault::usage, std::move(what)}; }

base::Result<std::string> read_to(const std::string& text) {
  const auto url = parse_url(text);
  if (!url) return base::Error(url.error()).at("--to");
  auto to = to_text(*url);
  const auto head = read_head(to);
  if (url->path.empty() || head.kind != Head::Kind::absolute) {
    return usage("--to: found '" + text + "', wanted the balancer's URL with its script, of plain characters only");
  }
  return to;
}

std::vector<std::string> texts(const po::variables_map& given, const char* name) {
  return given.count(name) > 0 ? given[name].as<std::vector<std::string>>() : std::vector<std::string>{};
}

base::Result<Order> read_order(const po::variables_map& given) {
  Order order;
  if (given.count("to") == 0) return usage("--to is missing, wanted the balancer's URL");
  auto to = read_to(given["to"].as<std::string>());
  if (!to) return std::move(to).error();
  order.rules = Rules{*std::move(to), default_scripts(), texts(given, "host")};
  for (const auto& pattern : texts(given, "match")) {
    if (pattern.empty() || pattern.ends_with('/')) {
      return usage("--match: found '" + pattern + "', wanted the last part of a path, or more of it behind a '/'");
    }
    order.rules.scripts.push_back(pattern);
  }
  if (given.count("dry-run") > 0) order.action = Action::show;
  if (given.count("recursive") > 0) order.folders = Folders::walk;
  order.paths = texts(given, "file");
  if (order.paths.empty()) return usage("no file is named");
  return order;
}

base::Result<po::variables_map> read_arguments(std::span<const std::string> arguments) {
  auto known = options();
  known.add_options()("file", po::value<std::vector<std::string>>());
  po::positional_options_description files;
  files.add("file", -1);
  namespace style = po::command_line_style;
  po::variables_map given;
  try {
    const std::vector<std::string> words(arguments.begin(), arguments.end());
    po::store(po::command_line_parser(words)
                  .options(known)
                  .positional(files)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              given);
  } catch (const po::error& error) {
    return usage(error.what());
  }
  return given;
}

class Run {
 public:
  Run(const Order& order, std::ostream& out, std::ostream& err) : order_(order), out_(out), err_(err) {}

  int all() {
    for (const auto& path : order_.paths) {
      struct stat status {};
      const bool is_folder = stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
      if (is_folder && order_.folders == Folders::walk) {
        folder(path);
      } else {
        file(path);
      }
    }
    return status_;
  }

 private:
  void fail(const std::string& what) {
    err_ << what << '\n';
    status_ = 1;
  }

  void folder(const std::string& path) {
    const auto walk = pages_below(path);
    for (const auto& error : walk.errors) fail(error);
    for (const auto& page : walk.pages) file(page);
  }

  void file(const std::string& path) {
    const auto page = read_page(path);
    if (!page) return fail(page.error().what);
    if (!seen_.insert(page->path).second) return;
    const auto work = [&] { return to_text(plan(page->path, page->bytes, order_.rules)); };
    const auto text = in_a_child(Limits{}, work);
    if (!text) return fail(path + ": left alone: reading it " + text.error().what);
    const auto plan = parse_plan(*text, page->bytes.size());
    if (!plan) return fail(path + ": left alone: " + plan.error().what);
    remark(path, *plan);
    if (!plan->edits.empty()) act(path, *page, *plan);
  }

  void remark(const std::string& path, const Plan& plan) {
    for (const auto& remark : plan.remarks) {
      const bool unsure = remark.weight == Weight::unsure;
      err_ << path;
      if (remark.line > 0) err_ << ':' << remark.line;
      err_ << (unsure ? ": left alone: " : ": note: ") << remark.text << '\n';
      if (unsure) status_ = 1;
    }
  }

  void act(const std::string& path, const PageFile& page, const Plan& plan) {
    if (page.status.st_nlink > 1) {
      err_ << path << ": note: is a hard link; its other names keep the old page\n";
    }
    if (order_.action == Action::show) {
      out_ << unified_diff(path, page.bytes, plan.edits, order_.rules.to);
      return;
    }
    const auto done = replace_page(page, rewritten(page.bytes, plan.edits, order_.rules.to));
    if (!done) return fail(done.error().what);
    const auto count = plan.edits.size();
    out_ << path << ": " << count << (count == 1 ? " URL" : " URLs") << " rewritten, the first version is " << page.path
         << ".orig\n";
  }

  const Order& order_;
  std::ostream& out_;
  std::ostream& err_;
  std::set<std::string> seen_;  // files, so that one named twice is in a diff once
  int status_ = 0;
};

}  // namespace

int forms_command(std::span<const std::string> arguments, std::ostream& out, std::ostream& err) {
  const auto given = read_arguments(arguments);
  if (given && given->count("help") > 0) {
    out << kUsage << options();
    return 0;
  }
  const auto order = given ? read_order(*given) : base::Result<Order>(given.error());
  if (!order) {
    err << "balancectl forms: " << order.error().what << '\n' << kUsage;
    return 2;
  }
  return Run(*order, out, err).all();
}

}  // namespace balance::forms
