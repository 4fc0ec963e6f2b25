#include "cli/commandline/command_line.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "cli/commandline/declare.h"
#include "cli/commandline/help_page.h"
#include "common/model/labels.h"

namespace fleetmark::cli {
namespace {

constexpr const char* kSummary =
    "Fleetmark tells which machines of a fleet have become slower. This program asks its collector, and "
    "helps "
    "to write plugins.";

void DeclareGlobals(CLI::App& app, Invocation& invocation) {
  invocation.client.address = "127.0.0.1:9410";
  app.set_help_flag("-h,--help", "This help, or that of a command");
  app.add_option("--collector", invocation.client.address, "The collector's address; default 127.0.0.1:9410")
      ->envname("FLEETMARK_COLLECTOR");
  app.add_option("--tls-ca", invocation.client.tls_ca,
                 "Authorities that the collector's certificate must come from");
  app.add_option("--tls-cert", invocation.client.tls_certificate, "Your certificate");
  app.add_option("--tls-key", invocation.client.tls_key, "Its key");
  app.add_option("--token-file", invocation.client.token_file,
                 "File with your token; otherwise the environment's FLEETMARK_TOKEN");
  Choose(app.add_option("-o,--output", invocation.format, "The form of the output; default table"),
         {"table", "wide", "json", "csv"});
  app.add_flag("--no-color", invocation.no_color, "No colours, as NO_COLOR=1 does");
  app.set_version_flag("--version", "fleetmark " FM_VERSION, "This program's version");
  app.require_subcommand(1);
  app.fallthrough();  // global options may also follow the command
}

// The help flag is the program's alone in what is told of a command.
void DropHelpFlag(CommandInfo* command) {
  for (CommandInfo& part : command->commands) {
    std::erase_if(part.options, [](const OptionInfo& o) { return o.names.back() == "--help"; });
    DropHelpFlag(&part);
  }
}

}  // namespace

void AddWatch(CLI::App& command, Invocation& invocation) {
  command
      .add_option("--watch", invocation.watch_seconds, "Show it again every so many seconds, until Ctrl-C")
      ->check(CLI::Range(0.5, 86400.0).description(""));
}

void AddLimit(CLI::App& command, uint32_t& limit, uint32_t most, const char* summary) {
  command.add_option("--limit", limit, summary)->check(CLI::Range(1u, most).description(""));
}

CLI::Option* Choose(CLI::Option* option, const std::vector<std::string>& choices) {
  return option->check(CLI::IsMember(choices).description(""))->type_name(absl::StrJoin(choices, "|"));
}

struct CommandLine::Impl {
  Impl() : app(kSummary, "fleetmark") {
    DeclareGlobals(app, invocation);
    DeclareViews(app, invocation);
    DeclareAlerts(app, invocation);
    DeclareOperations(app, invocation);
    DeclareTools(app, invocation);
  }

  // Of the command on which --help stands.
  std::string Help() const {
    CommandInfo info = DescribeApp(app);
    DropHelpFlag(&info);
    const CLI::App* asked = &app;
    const CommandInfo* of = &info;
    std::string path = info.name;
    while (!asked->get_subcommands().empty()) {
      asked = asked->get_subcommands().front();
      if (asked->get_name().empty()) break;  // a group of options
      of = FindCommand(of->commands, asked->get_name());
      if (of == nullptr) break;
      absl::StrAppend(&path, " ", of->name);
    }
    return of == nullptr || of == &info ? ProgramHelp(info) : CommandHelp(path, *of);
  }

  // CLI11's words, but for a misspelt command.
  std::string Explain(const CLI::ParseError& error) const {
    std::vector<std::string> names;
    const CLI::App* asked = &app;
    while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
    for (const CLI::App* command : asked->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    const std::vector<std::string> rest = app.remaining(true);
    const bool misspelt = !names.empty() && !rest.empty() && !rest[0].empty() && rest[0][0] != '-';
    if (!misspelt) return error.what();
    const std::string nearest = NearestName(rest[0], names);
    return absl::StrCat("there is no command '", rest[0], "'",
                        nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?"));
  }

  Invocation invocation;
  CLI::App app;
};

CommandLine::CommandLine() : impl_(std::make_unique<Impl>()) {}
CommandLine::~CommandLine() = default;

CommandLine::Reading CommandLine::Read(int argc, char** argv) {
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {Reading::Kind::kText, impl_->Help()};
  } catch (const CLI::CallForVersion& version) {
    return {Reading::Kind::kText, absl::StrCat(version.what(), "\n")};
  } catch (const CLI::ParseError& error) {
    return {Reading::Kind::kFault, impl_->Explain(error)};
  }
  return {Reading::Kind::kCommand, ""};
}

const Invocation& CommandLine::invocation() const { return impl_->invocation; }

CommandInfo CommandLine::Describe() const {
  CommandInfo info = DescribeApp(impl_->app);
  DropHelpFlag(&info);
  return info;
}

}  // namespace fleetmark::cli
