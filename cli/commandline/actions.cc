#include "cli/commandline/declare.h"

namespace fleetmark::cli {

void DeclareActions(CLI::App& app, Invocation& invocation) {
  CLI::App* actions =
      app.add_subcommand("actions", "What is done to nodes because of alerts; without a command, what holds");
  auto listed = std::make_shared<ActionsOptions>();
  // CLI11 calls this after a subcommand's own.
  actions->callback([&invocation, actions, listed] {
    if (!actions->get_subcommands().empty()) return;
    invocation.session_command = [listed](Session& session) { return ListActions(*listed, session); };
  });
  actions->require_subcommand(0, 1);
  AddWatch(*actions, invocation);
  CLI::App* command = nullptr;
  auto list = AddCommand<ActionsOptions>(*actions, "list", "Those that are not over, and what is held back",
                                         invocation, ListActions, command);
  command->add_flag("--all", list->all, "Those that are over too");
  command->add_option("--node", list->node, "Only those on this node");
  AddLimit(*command, list->limit, 10000, "At most so many; default 100");
  AddWatch(*command, invocation);

  const auto add = [&](const char* name, const char* summary, auto run) {
    return AddCommand<ActionCommandOptions>(*actions, name, summary, invocation, run, command);
  };
  auto show = add("show", "One with all that happened", ShowAction);
  command->add_option("action", show->id, "Its id, or the last characters of it")->required();
  auto stop = add("stop", "Stop all actions at once; it holds over restarts", StopActions);
  command->add_option("--note", stop->note, "Why");
  auto resume = add("resume", "Let actions go on", ResumeActions);
  command->add_option("--note", resume->note, "Why");
  auto undo = add("undo", "Take one back now", UndoAction);
  command->add_option("action", undo->id, "Its id, or the last characters of it")->required();
}

}  // namespace fleetmark::cli
