// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text.
#include "loadprobe/command_line.h"

#include <array>
#include <boost/program_options/cmdline.hpp>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <sstream>

#include "loadprobe/base/text.h"

namespace loadprobe {
namespace {

namespace options = boost::program_options;
using base::Error;
using base::Fault;
using base::Result;

struct Action {
  const char* name;
  Command::Kind kind;
  const char* help;
};
constexpr std::array<Action, 6> kActions{{
    {"once", Command::Kind::once, "print one report and exit"},
    {"check", Command::Kind::check, "check the configuration and exit"},
    {"drain", Command::Kind::drain,
     "take no new requests; the words behind it are the reason ('off: REASON' takes the host out of the pool)"},
    {"ready", Command::Kind::ready, "take requests again"},
    {"help", Command::Kind::help, "print this and exit"},
    {"version", Command::Kind::version, "print the version and exit"},
}};

options::options_description shown_options() {
  constexpr unsigned kLineWidth = 100;
  options::options_description shown("Options", kLineWidth);
  shown.add_options()("config", options::value<std::string>()->value_name("FILE"),
                      "the configuration, else LOADPROBE_CONFIG in the environment, else loadprobe.conf in its place");
  for (const Action& action : kActions) shown.add_options()(action.name, action.help);
  return shown;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

Result<Command> meaning_of(const options::variables_map& given) {
  Command command;
  const char* first = nullptr;
  for (const Action& action : kActions) {
    if (given.count(action.name) == 0) continue;
    if (first) {
      return Error{Fault::usage,
                   std::string("--") + first + " and --" + action.name + " are given; wanted one of them"};
    }
    first = action.name;
    command.kind = action.kind;
  }
  if (given.count("config") > 0) command.config = given["config"].as<std::string>();
  if (given.count("reason") > 0) command.reason = joined(given["reason"].as<std::vector<std::string>>());
  if (!command.reason.empty() && command.kind != Command::Kind::drain) {
    return Error{Fault::usage, "found '" + base::escaped(command.reason) + "'; only --drain takes words, its reason"};
  }
  return command;
}

}  // namespace

Result<Command> parse_command_line(const std::vector<std::string>& arguments) {
  options::options_description all = shown_options();
  all.add_options()("reason", options::value<std::vector<std::string>>());
  options::positional_options_description words;
  words.add("reason", -1);
  // No guessing: a shortened option would change its meaning with the next one that is added.
  constexpr int kStyle = options::command_line_style::unix_style & ~options::command_line_style::allow_guessing;
  try {
    options::variables_map given;
    options::store(options::command_line_parser(arguments).options(all).positional(words).style(kStyle).run(), given);
    return meaning_of(given);
  } catch (const options::error& error) {
    return Error{Fault::usage, error.what()};
  }
}

std::string usage() {
  std::ostringstream text;
  text << "Usage: loadprobe [--config FILE] [--once | --check | --drain [REASON] | --ready]\n"
          "Tells the load of this host to balancers, over HTTP. See loadprobe(8).\n\n"
       << shown_options();
  return text.str();
}

}  // namespace loadprobe
