// From CLI11's tree to our own: the only place that looks into it.
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "cli/commandline/declare.h"

namespace fleetmark::cli {
namespace {

constexpr const char* kUnnamedType = "TEXT";  // CLI11's word for any text
constexpr const char* kHidden = "";           // CLI11's group of what help leaves out

// What a value is, where the declaration does not say: by the option's or argument's name.
std::string ValueName(const std::string& name) {
  static const auto* const kNames = new std::map<std::string, std::string>{
      {"at", "HH:MM"},        {"collector", "HOST:PORT"}, {"dir", "FOLDER"},       {"expires", "DURATION"},
      {"file", "FILE"},       {"folder", "FOLDER"},       {"for", "DURATION"},     {"from", "TIME"},
      {"id", "ID"},           {"label", "KEY=VALUE"},     {"length", "DURATION"},  {"limit", "N"},
      {"match", "KEY=VALUE"}, {"since", "DURATION"},      {"time-zone", "ZONE"},   {"tls-ca", "FILE"},
      {"tls-cert", "FILE"},   {"tls-key", "FILE"},        {"token-file", "FILE"},  {"to", "TIME"},
      {"watch", "SECONDS"},   {"a-label", "KEY=VALUE"},   {"b-label", "KEY=VALUE"}};
  const auto it = kNames->find(name);
  return it != kNames->end() ? it->second : absl::AsciiStrToUpper(name);
}

OptionInfo DescribeOption(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  const bool flag = option.get_items_expected_max() == 0;
  const std::string plain = option.get_lnames().empty() ? option.get_name(true) : option.get_lnames()[0];
  if (info.names.empty()) info.names.push_back(option.get_name(true));
  if (!flag) {
    const std::string type = option.get_type_name();
    const bool typed = type != kUnnamedType && type != "UINT" && type != "FLOAT" && type != "INT";
    info.value = typed ? type : ValueName(plain);
  }
  info.summary = option.get_description();
  info.environment = option.get_envname();
  info.required = option.get_required();
  info.repeated = !flag && option.get_expected_max() > 1;
  return info;
}

void AddOptions(const CLI::App& app, CommandInfo* info) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == kHidden) continue;
    (option->get_positional() ? info->arguments : info->options).push_back(DescribeOption(*option));
  }
}

}  // namespace

CommandInfo DescribeApp(const CLI::App& app) {
  CommandInfo info;
  info.name = app.get_name();
  info.summary = app.get_description();
  info.details = app.get_footer();
  info.needs_command = app.get_require_subcommand_min() > 0;
  AddOptions(app, &info);
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (part->get_group() == kHidden) continue;
    if (part->get_name().empty()) {
      AddOptions(*part, &info);  // a group of options
    } else {
      info.commands.push_back(DescribeApp(*part));
    }
  }
  return info;
}

}  // namespace fleetmark::cli
