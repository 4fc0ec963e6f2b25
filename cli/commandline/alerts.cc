#include "cli/commandline/declare.h"

namespace fleetmark::cli {
namespace {

void AddAlerts(CLI::App& app, Invocation& invocation) {
  CLI::App* alerts =
      app.add_subcommand("alerts", "Problems that somebody is told of; without a command, the open ones");
  auto listed = std::make_shared<AlertsOptions>();
  // CLI11 calls this after a subcommand's own.
  alerts->callback([&invocation, alerts, listed] {
    if (!alerts->get_subcommands().empty()) return;
    invocation.session_command = [listed](Session& session) { return ListAlerts(*listed, session); };
  });
  alerts->require_subcommand(0, 1);
  AddWatch(*alerts, invocation);
  CLI::App* command = nullptr;
  auto list = AddCommand<AlertsOptions>(*alerts, "list", "The open ones, newest first", invocation,
                                        ListAlerts, command);
  command->add_flag("--all", list->all, "Resolved ones too");
  Choose(command->add_option("--state", list->state, "Only those in this state"),
         {"pending", "firing", "acknowledged", "silenced", "resolved"});
  command->add_option("--node", list->node, "Only those that this node is one of");
  AddLimit(*command, list->limit, 1000000, "At most so many; default 100");
  AddWatch(*command, invocation);

  auto show =
      AddCommand<AlertOptions>(*alerts, "show", "The whole message of one", invocation, ShowAlert, command);
  command->add_option("alert", show->id, "Its id, or the last characters of it")->required();
  auto history =
      AddCommand<AlertOptions>(*alerts, "history", "All that happened to one, and who was told when",
                               invocation, ShowAlertHistory, command);
  command->add_option("alert", history->id, "Its id, or the last characters of it")->required();
  auto ack = AddCommand<AlertOptions>(*alerts, "ack", "Say that you know: no repeats, no escalation",
                                      invocation, AcknowledgeAlert, command);
  command->add_option("alert", ack->id, "Its id, or the last characters of it")->required();
  command->add_option("--note", ack->note, "What others should know");
  command->add_flag("--undo", ack->undo, "Take the acknowledgement back");
  alerts->add_subcommand("receivers", "Who is told, what waits for them, and what is wrong")
      ->callback([&invocation] { invocation.session_command = ShowReceivers; });
}

void AddSilences(CLI::App& app, Invocation& invocation) {
  CLI::App* silence =
      app.add_subcommand("silence", "Quiet for some alerts, for a time or in maintenance windows");
  silence->require_subcommand(1);
  CLI::App* command = nullptr;
  auto listed = AddCommand<SilencesOptions>(*silence, "list", "Those that hold or will", invocation,
                                            ShowSilences, command);
  command->add_flag("--all", listed->all, "Past ones too");
  auto added = AddCommand<SilenceOptions>(*silence, "add", "Tell nobody of what matches", invocation,
                                          AddSilence, command);
  command->add_option("--match", added->match,
                      "label=value of the alert, * and ? stand for anything; may be repeated");
  command->add_option("--node", added->node, "Short for --match node=NAME");
  command->add_option("--alert", added->alert, "What this alert is about: its class and subject");
  command
      ->add_option("--for", added->duration,
                   "How long, for example 4h; of a recurring one, how long it recurs")
      ->required();
  command->add_option("--from", added->from, "From when, as 2026-05-01T22:00:00Z; default now");
  command->add_option("--note", added->note, "Why")->required();
  command->add_flag("--maintenance", added->maintenance, "It is a maintenance window");
  command->add_option("--days", added->days, "Recurring: mon, tue, …; default every day")->delimiter(',');
  command->add_option("--at", added->at, "Recurring: from this time of day, HH:MM");
  command->add_option("--length", added->length, "Recurring: for so long each time, for example 2h");
  command->add_option("--time-zone", added->time_zone, "Recurring: as Europe/Berlin; default UTC");
  auto ended = AddCommand<EndSilenceOptions>(*silence, "end", "End one now", invocation, EndSilence, command);
  command->add_option("silence", ended->id, "Its id")->required();
}

}  // namespace

void DeclareAlerts(CLI::App& app, Invocation& invocation) {
  AddAlerts(app, invocation);
  AddSilences(app, invocation);
}

}  // namespace fleetmark::cli
