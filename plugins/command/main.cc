// Runs any program and reads metrics out of what it prints, by regular expressions.
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "plugins/command/child_process.h"
#include "plugins/parse/regex.h"
#include "plugins/parse/regex_spec.h"
#include "plugins/sdk/cpp/fleetmark_plugin.h"

namespace {

using fleetmark::command::ChildOptions;
using fleetmark::command::ChildResult;
using fleetmark::plugin::Plugin;
using nlohmann::json;
namespace parse = fleetmark::parse;

json ReadParameters(const Plugin& plugin) {
  const json request = json::parse(std::cin, nullptr, false);
  if (!request.is_object() || !request.contains("params") || !request["params"].is_object()) {
    plugin.Fail("standard input is not the request of docs/plugin-protocol.md");
  }
  return request["params"];
}

std::string Text(const Plugin& plugin, const json& params, const char* key) {
  const auto found = params.find(key);
  if (found == params.end() || !found->is_string()) {
    plugin.BadParameters(std::string("'") + key + "' must be a string");
  }
  return found->get<std::string>();
}

ChildOptions ReadChildOptions(const Plugin& plugin, const json& params) {
  std::string error;
  const auto command = parse::StringList(params, "command", &error);
  const auto environment = command ? parse::StringMap(params, "environment", &error) : std::nullopt;
  if (!command || !environment) plugin.BadParameters(error);
  if (command->empty() || command->front().empty()) plugin.BadParameters("'command' names no program");
  return {.command = *command, .standard_input = Text(plugin, params, "stdin"), .environment = *environment};
}

int ExpectedExit(const Plugin& plugin, const json& params) {
  const auto found = params.find("expected_exit");
  if (found == params.end() || !found->is_number() || found->get<double>() != found->get<int>()) {
    plugin.BadParameters("'expected_exit' must be a whole number");
  }
  return found->get<int>();
}

void CheckEnd(const Plugin& plugin, const ChildOptions& options, const ChildResult& result,
              int expected_exit) {
  const std::string& program = options.command.front();
  if (result.start_error == ENOENT) {
    plugin.BadParameters("the program '" + program + "' does not exist, or not in PATH");
  }
  if (result.start_error != 0) {
    plugin.Fail("can't start '" + program + "': " + std::strerror(result.start_error));
  }
  if (result.too_much_output) {
    plugin.Fail("'" + program + "' was stopped: it printed more than " +
                std::to_string(options.max_output_bytes >> 20) + " MiB");
  }
  if (result.exit_status != expected_exit) {
    plugin.Fail("'" + program + "' ended with status " + std::to_string(result.exit_status) + " instead of " +
                std::to_string(expected_exit));
  }
}

std::string ReadInput(const Plugin& plugin, const std::string& input, const ChildResult& result,
                      size_t max_bytes) {
  if (input == "stdout") return result.standard_output;
  if (input == "stderr") return result.standard_error;
  if (input == "both") return result.both;
  std::ifstream file(input, std::ios::binary);
  if (!file) plugin.Fail("can't read the file '" + input + "' that 'input' names");
  std::string text;
  char buffer[65536];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
    if (text.size() > max_bytes) plugin.Fail("the file '" + input + "' is too large");
  }
  return text;
}

void Report(Plugin& plugin, const parse::ReadResult& result) {
  for (const std::string& problem : result.problems) plugin.Invalid(problem);
  if (!result.problems.empty()) return;
  for (const parse::Reading& reading : result.readings) {
    for (const double value : reading.values) {
      if (reading.repetitions) {
        plugin.Sample(reading.name, value, reading.unit, reading.labels, reading.better);
      } else {
        plugin.Metric(reading.name, value, reading.unit, reading.labels, reading.better);
      }
    }
  }
}

}  // namespace

int main() {
  Plugin plugin;
  const json params = ReadParameters(plugin);
  // Everything is checked before the program runs.
  const ChildOptions options = ReadChildOptions(plugin, params);
  const int expected_exit = ExpectedExit(plugin, params);
  const std::string input = Text(plugin, params, "input");
  std::string error;
  const auto spec = parse::RegexSpecFromJson(params, &error);
  const auto reader = spec ? parse::RegexReader::Create(*spec, &error) : std::nullopt;
  if (!reader) plugin.BadParameters(error);

  const ChildResult result = fleetmark::command::RunChild(options);
  CheckEnd(plugin, options, result, expected_exit);
  Report(plugin, reader->Read(ReadInput(plugin, input, result, options.max_output_bytes)));
  plugin.Done();
}
