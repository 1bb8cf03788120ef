// SPDX-License-Identifier: MIT
#include "balance/ctl/command_line.h"

#include <array>
#include <boost/program_options.hpp>
#include <sstream>
#include <utility>

#include "balance/ground/hand_file.h"
#include "balance/table/config_file.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

namespace po = boost::program_options;

constexpr std::array<std::string_view, 9> kVerbs{"status", "explain", "check", "list", "weight",
                                                 "reset",  "drain",   "off",   "ready"};
// Read by itself, before this command line: see usage_text().
constexpr std::array<std::string_view, 2> kTools{"forms", "import"};
constexpr std::string_view kWantedVerbs =
    "wanted status, explain, check, list, weight, reset, drain, off, ready, forms or import";
constexpr base::Seconds kRedraw{2};

base::Error usage(const std::string& what) { return base::Error{base::Fault::usage, what}; }

po::options_description general_options() {
  po::options_description options("For every command");
  options.add_options()(
      "config", po::value<std::string>()->value_name("FILE"),
      ("the configuration; else BALANCE_CONFIG names it, else it is " + default_config_file()).c_str())(
      "help", "print this and end")("version", "print the version and end");
  return options;
}

po::options_description status_options() {
  po::options_description options("status");
  options.add_options()("json", "print JSON")("watch",
                                              po::value<std::string>()->implicit_value("")->value_name("SECONDS"),
                                              "print anew every 2 or SECONDS seconds")(
      "count", po::value<std::string>()->value_name("N"), "with --watch: end after N times");
  return options;
}

po::options_description explain_options() {
  po::options_description options("explain");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("method", text("METHOD"), "GET unless set")("https", "the client is on https")(
      "host", text("NAME[:PORT]"), "as the client names the balancer")("path-info", text("PATH"),
                                                                       "what follows the script")(
      "client", text("ADDRESS"), "of the client; 127.0.0.1 unless set")("cookie", text("COOKIES"), "Cookie header")(
      "origin", text("ORIGIN"), "Origin header")("authorization", "the client sends credentials");
  return options;
}

po::options_description duty_options() {
  po::options_description options("drain, off, ready");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("reason", text("TEXT"), "what for; status shows it")("for", text("DURATION"),
                                                                             "ends by itself after so long, as in 2h")(
      "wait", "until the host has finished its work")("timeout", text("DURATION"),
                                                      "with --wait: give up after so long");
  return options;
}

// Whether the option may be given to the verb.
base::Status check_place(const po::variables_map& given, Verb verb) {
  const auto only_for = [&](const po::options_description& options, const std::string& name) -> base::Status {
    for (const auto& option : options.options()) {
      if (given.count(option->long_name()) == 0) continue;
      return usage("--" + option->long_name() + " belongs to '" + name + "'");
    }
    return base::ok();
  };
  if (verb != Verb::status) {
    if (base::Status fine = only_for(status_options(), "status"); !fine) return fine;
  }
  if (verb != Verb::duty) {
    if (base::Status fine = only_for(duty_options(), "drain', 'off' and 'ready"); !fine) return fine;
  }
  if (verb != Verb::explain) return only_for(explain_options(), "explain");
  return base::ok();
}

base::Result<base::Seconds> redraw_every(const std::string& text) {
  if (text.empty()) return kRedraw;
  std::optional<double> seconds = base::number(text);
  if (!seconds) {
    if (const base::Result<base::Seconds> duration = base::duration(text)) seconds = duration->count();
  }
  if (seconds && *seconds >= 0.1 && *seconds <= 3600) return base::Seconds{*seconds};
  return usage("--watch is '" + base::escaped(text) + "'; wanted 0.1 to 3600 seconds");
}

base::Status read_status(const po::variables_map& given, std::vector<std::string> words, Command& command) {
  if (given.count("json") > 0) command.form = Form::json;
  if (given.count("watch") > 0) {
    std::string every = given["watch"].as<std::string>();
    // 'status --watch 5': Boost takes an optional value only after '=', so the 5 arrives as a word.
    if (every.empty() && words.size() == 1) every = std::exchange(words, {}).front();
    const base::Result<base::Seconds> seconds = redraw_every(every);
    if (!seconds) return seconds.error();
    command.watch = *seconds;
  }
  if (given.count("count") > 0) {
    const std::string text = given["count"].as<std::string>();
    command.redraws = base::whole_number(text);
    if (!command.redraws || *command.redraws == 0)
      return usage("--count is '" + base::escaped(text) + "'; wanted 1 or more");
    if (!command.watch) return usage("--count is of use with --watch only");
  }
  if (!words.empty()) return usage("status takes no '" + base::escaped(words.front()) + "'");
  return base::ok();
}

base::Status read_explain(const po::variables_map& given, const std::vector<std::string>& words, Command& command) {
  if (words.size() != 1) return usage("explain takes one query, in quotes: balancectl explain 'map=WORLD&mode=map'");
  Inquiry& inquiry = command.inquiry;
  inquiry.query = words.front();
  const std::array<std::pair<const char*, std::string*>, 6> texts{{{"method", &inquiry.method},
                                                                   {"host", &inquiry.host},
                                                                   {"path-info", &inquiry.path_info},
                                                                   {"client", &inquiry.client},
                                                                   {"cookie", &inquiry.cookie},
                                                                   {"origin", &inquiry.origin}}};
  for (const auto& [name, text] : texts) {
    if (given.count(name) > 0) *text = given[name].as<std::string>();
  }
  if (!inquiry.path_info.empty() && inquiry.path_info.front() != '/') {
    return usage("--path-info is '" + base::escaped(inquiry.path_info) + "'; wanted a '/' in front");
  }
  inquiry.https = given.count("https") > 0;
  inquiry.with_credentials = given.count("authorization") > 0;
  return base::ok();
}

base::Status read_hosts(std::vector<std::string> words, const std::string& verb, Command& command) {
  if (words.empty()) return usage(verb + " names no host; wanted at least one");
  command.hosts = std::move(words);
  return base::ok();
}

base::Status read_weight(std::vector<std::string> words, Command& command) {
  if (words.size() < 2) return usage("weight takes a host and its weight: balancectl weight pinchot 2");
  const base::Result<double> weight = hand_weight(words.back());
  if (!weight) return usage("the weight " + weight.error().what);
  command.weight = *weight;
  words.pop_back();
  return read_hosts(std::move(words), "weight", command);
}

base::Status read_duration(const po::variables_map& given, const std::string& name,
                           std::optional<base::Seconds>& target) {
  if (given.count(name) == 0) return base::ok();
  const base::Result<base::Seconds> duration = base::duration(given[name].as<std::string>());
  if (!duration) return usage("--" + name + ": " + duration.error().what);
  if (duration->count() <= 0) return usage("--" + name + " is 0; wanted more");
  target = *duration;
  return base::ok();
}

base::Status read_duty(const po::variables_map& given, std::vector<std::string> words, const std::string& verb,
                       Command& command) {
  command.duty = verb == "drain" ? Duty::draining : verb == "off" ? Duty::off : Duty::serving;
  if (given.count("reason") > 0) command.reason = given["reason"].as<std::string>();
  if (command.reason.size() > kMostReasonBytes) {
    return usage("--reason has " + std::to_string(command.reason.size()) + " bytes; wanted at most 200");
  }
  command.wait = given.count("wait") > 0;
  if (command.wait && command.duty == Duty::serving) return usage("--wait is of use with drain and off");
  if (base::Status read = read_duration(given, "for", command.lasts); !read) return read;
  if (base::Status read = read_duration(given, "timeout", command.timeout); !read) return read;
  if (command.timeout && !command.wait) return usage("--timeout is of use with --wait only");
  if (command.lasts && command.duty == Duty::serving && command.reason.empty()) {
    return usage("--for says how long a drain, an off or a reason lasts; a host that is ready stays so");
  }
  return read_hosts(std::move(words), verb, command);
}

base::Result<Verb> verb_named(const std::string& word) {
  constexpr std::array<Verb, kVerbs.size()> kMeaning{Verb::status, Verb::explain, Verb::check, Verb::list, Verb::weight,
                                                     Verb::reset,  Verb::duty,    Verb::duty,  Verb::duty};
  for (std::size_t i = 0; i < kVerbs.size(); ++i) {
    if (word == kVerbs[i]) return kMeaning[i];
  }
  for (const std::string_view tool : kTools) {
    if (word == tool) return usage(word + " reads no configuration; wanted it as the first word");
  }
  std::vector<std::string_view> known(kVerbs.begin(), kVerbs.end());
  known.insert(known.end(), kTools.begin(), kTools.end());
  const std::string near = base::nearest(word, known);
  return usage("unknown command '" + base::escaped(word) + "'; " +
               (near.empty() ? std::string(kWantedVerbs) : "the nearest known one is '" + near + "'"));
}

base::Result<Command> command_of(const po::variables_map& given) {
  Command command;
  if (given.count("config") > 0) {
    command.config = given["config"].as<std::string>();
    if (command.config.empty()) return usage("--config names no file");
  }
  if (given.count("help") > 0) return command;
  command.verb = Verb::version;
  if (given.count("version") > 0) return command;
  std::vector<std::string> words;
  if (given.count("word") > 0) words = given["word"].as<std::vector<std::string>>();
  if (words.empty()) return usage("no command; " + std::string(kWantedVerbs));
  const base::Result<Verb> verb = verb_named(words.front());
  if (!verb) return verb.error();
  command.verb = *verb;
  const std::string word = words.front();
  words.erase(words.begin());
  if (base::Status fine = check_place(given, command.verb); !fine) return fine.error();
  base::Status read = base::ok();
  if (command.verb == Verb::status) {
    read = read_status(given, words, command);
  } else if (command.verb == Verb::explain) {
    read = read_explain(given, words, command);
  } else if (command.verb == Verb::weight) {
    read = read_weight(std::move(words), command);
  } else if (command.verb == Verb::reset) {
    read = read_hosts(std::move(words), word, command);
  } else if (command.verb == Verb::duty) {
    read = read_duty(given, std::move(words), word, command);
  } else if (!words.empty()) {
    read = usage("'" + base::escaped(words.front()) + "' is one word too many");
  }
  if (!read) return read.error();
  return command;
}

}  // namespace

base::Result<Command> parse_command_line(const std::vector<std::string>& arguments) {
  po::options_description all;
  all.add(general_options()).add(status_options()).add(explain_options()).add(duty_options());
  all.add_options()("word", po::value<std::vector<std::string>>());
  po::positional_options_description words;
  words.add("word", -1);
  // No abbreviations: what a script says today must not mean another option tomorrow.
  constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map given;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(words).style(kStyle).run(), given);
  } catch (const po::error& error) {
    return usage(error.what());
  }
  return command_of(given);
}

std::string usage_text() {
  std::ostringstream text;
  text << "usage: balancectl [--config FILE] status [--json] [--watch [SECONDS]] [--count N]\n"
          "       balancectl [--config FILE] explain [OPTIONS] QUERY\n"
          "       balancectl [--config FILE] check\n"
          "       balancectl [--config FILE] list\n"
          "       balancectl [--config FILE] weight HOST... WEIGHT\n"
          "       balancectl [--config FILE] reset HOST...\n"
          "       balancectl [--config FILE] drain|off HOST... [--reason TEXT] [--for DURATION]\n"
          "                  [--wait [--timeout DURATION]]\n"
          "       balancectl [--config FILE] ready HOST... [--reason TEXT]\n"
          "       balancectl forms --to URL [--dry-run] [-r] [--match PATTERN]... [--host NAME]... FILE...\n"
          "                  (see balancectl forms --help)\n"
          "       balancectl import FILE\n\n"
       << general_options() << "\n"
       << status_options() << "\n"
       << explain_options() << "\n"
       << duty_options();
  return text.str();
}

}  // namespace balance
