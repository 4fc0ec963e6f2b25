// How commands are declared: one function a group, each in its own file. The value's name of an option that
// has no choices comes from its name (describe.cc).
//
// Thread-safety: none; main's. What they make refers to the Invocation, which must outlive the CLI::App.
#ifndef FLEETMARK_CLI_COMMANDLINE_DECLARE_H_
#define FLEETMARK_CLI_COMMANDLINE_DECLARE_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/commandline/command_info.h"
#include "cli/commandline/invocation.h"

namespace fleetmark::cli {

// Status, nodes, series, runs, findings, events, the audit log.
void DeclareViews(CLI::App& app, Invocation& invocation);
// Alerts and silences.
void DeclareAlerts(CLI::App& app, Invocation& invocation);
// What changes something: notes, runs, imports, backups.
void DeclareOperations(CLI::App& app, Invocation& invocation);
// What asks no collector: detection in files, readers, plugins, completion.
void DeclareTools(CLI::App& app, Invocation& invocation);

// A subcommand whose `run` is called with its options once they are read.
template <typename Options>
std::shared_ptr<Options> AddCommand(CLI::App& app, const char* name, const char* summary,
                                    Invocation& invocation, CommandResult (*run)(const Options&, Session&),
                                    CLI::App*& command) {
  auto options = std::make_shared<Options>();
  command = app.add_subcommand(name, summary);
  command->callback([&invocation, options, run] {
    invocation.session_command = [options, run](Session& session) { return run(*options, session); };
  });
  return options;
}

void AddWatch(CLI::App& command, Invocation& invocation);
void AddLimit(CLI::App& command, uint32_t& limit, uint32_t most, const char* summary);

// Only these values; help names them and completion offers them.
CLI::Option* Choose(CLI::Option* option, const std::vector<std::string>& choices);

// The whole tree as data.
CommandInfo DescribeApp(const CLI::App& app);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_DECLARE_H_
