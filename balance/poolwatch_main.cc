// SPDX-License-Identifier: MIT
// poolwatch: asks every host how it is and keeps the table that balance reads. Here: the command line, the environment,
// the exit status. The manual is man/poolwatch.8.
// Floor 4.
#include <boost/program_options.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "balance/ground/config.h"
#include "balance/table/config_file.h"
#include "balance/watch/service.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/log.h"
#include "loadprobe/base/text.h"

namespace {

namespace options = boost::program_options;

constexpr int kFine = 0, kFailed = 1, kUsage = 2;

constexpr const char* kHelp =
    "usage: poolwatch [--config FILE] [--log FILE] [--on-demand]\n"
    "       poolwatch [--config FILE] --check\n"
    "Asks every MapServer host how busy it is and keeps the table that balance reads.\n"
    "\n"
    "  --config FILE  the configuration; else BALANCE_CONFIG, else the installed one\n"
    "  --log FILE     write the log there; above 1 MB it becomes FILE.old\n"
    "  --on-demand    leave when another poolwatch runs, or after 60 s without requests\n"
    "  --check        read the configuration, say what is wrong with it, and end\n"
    "  --help         print this\n"
    "  --version      print the version\n";

struct CommandLine {
  std::string config, log;
  bool on_demand = false, check = false, help = false, version = false;
};

CommandLine parse_command_line(int argc, char** argv) {
  CommandLine line;
  options::options_description known;
  auto add = known.add_options();
  add("config", options::value(&line.config));
  add("log", options::value(&line.log));
  add("on-demand", options::bool_switch(&line.on_demand));
  add("check", options::bool_switch(&line.check));
  add("help", options::bool_switch(&line.help));
  add("version", options::bool_switch(&line.version));
  add("word", options::value<std::vector<std::string>>());  // refused below, by name
  options::variables_map values;
  // No guessing: an abbreviation that works today may be ambiguous tomorrow.
  const int style = options::command_line_style::default_style & ~options::command_line_style::allow_guessing;
  options::positional_options_description words;
  words.add("word", -1);
  options::store(options::command_line_parser(argc, argv).options(known).style(style).positional(words).run(), values);
  options::notify(values);
  if (values.count("word") > 0) {
    throw options::error("found '" + base::escaped(values["word"].as<std::vector<std::string>>().front()) +
                         "'; wanted options alone");
  }
  return line;
}

void log_lines(std::string_view what, const std::string& lines) {
  for (const std::string_view line : base::split(lines, '\n')) {
    base::log(base::Level::error, what, {{"cause", std::string(line)}});
  }
}

int check(const std::string& file) {
  const base::Result<balance::Config> config = balance::read_config(file);
  if (!config) {
    std::cerr << config.error().what << "\n";
    return kUsage;
  }
  std::cout << file << ": fine, " << config->hosts.size() << " hosts\n";
  return kFine;
}

int watch(const CommandLine& line, const std::string& file) {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  balance::ServiceOptions how;
  if (!line.log.empty()) {
    base::Result<balance::LogFile> log = balance::LogFile::open(line.log);
    if (log) {
      how.log = *std::move(log);
    } else {
      log_lines("cannot open the log", log.error().what);
      if (!line.on_demand) return kFailed;
    }
  }
  how.config_file = file;
  how.stay = line.on_demand ? balance::Stay::on_demand : balance::Stay::permanent;
  how.notify_socket = socket != nullptr ? socket : "";
  const base::Result<std::unique_ptr<balance::Service>> service = balance::Service::create(std::move(how));
  if (!service) {
    log_lines("cannot start", service.error().what);
    return service.error().fault == base::Fault::usage ? kUsage : kFailed;
  }
  const base::Status ended = (*service)->run();
  if (ended) return kFine;
  log_lines("cannot go on", ended.error().what);
  return ended.error().fault == base::Fault::usage ? kUsage : kFailed;
}

int run(int argc, char** argv) {
  const CommandLine line = parse_command_line(argc, argv);
  if (line.help) {
    std::cout << kHelp;
    return kFine;
  }
  if (line.version) {
    std::cout << "poolwatch " VERSION "\n";
    return kFine;
  }
  const std::string file = balance::config_file_named(line.config, std::getenv("BALANCE_CONFIG"));
  return line.check ? check(file) : watch(line, file);
}

}  // namespace

int main(int argc, char** argv) {
  base::keep_standard_descriptors();
  base::log_as("poolwatch");
  try {
    return run(argc, argv);
  } catch (const options::error& error) {
    std::cerr << "poolwatch: " << error.what() << "\n" << kHelp;
    return kUsage;
  } catch (const std::exception& error) {
    base::log(base::Level::error, "cannot go on", {{"cause", error.what()}});
    return kFailed;
  }
}
