#include "cli/commandline/declare.h"

namespace fleetmark::cli {
namespace {

void AddStatus(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("status", "The collector and the fleet in a few lines");
  command->callback([&invocation] { invocation.session_command = ShowStatus; });
  AddWatch(*command, invocation);
}

void AddNodes(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o = AddCommand<NodesOptions>(app, "nodes", "The nodes; with NAME everything about one", invocation,
                                    ShowNodes, command);
  command->add_option("name", o->name, "A node's name")->type_name("NODE");
  command->add_option("--label", o->labels, "Only nodes with this label, key=value; may be repeated");
  AddLimit(*command, o->limit, 1000000, "At most so many");
  AddWatch(*command, invocation);
}

void AddSeries(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o = AddCommand<SeriesOptions>(app, "series", "The series; with ID the samples of one", invocation,
                                     ShowSeries, command);
  command->add_option("id", o->id, "A series' number")->type_name("SERIES");
  command->add_option("--node", o->node, "Only of this node");
  command->add_option("--benchmark", o->benchmark, "Only of this benchmark");
  command->add_option("--metric", o->metric, "Only this metric");
  command->add_option("--label", o->labels, "Only with this label, key=value; may be repeated");
  command->add_option("--since", o->since,
                      "Only samples of so long ago until now, for example 24h (with ID)");
  AddLimit(*command, o->limit, 100000, "At most so many; default 1000, or the newest 50 samples");
  AddWatch(*command, invocation);
}

void AddRuns(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o = AddCommand<RunsOptions>(app, "runs", "The runs, newest first; with RUN everything about one",
                                   invocation, ShowRuns, command);
  command->add_option("run", o->id, "A run's identifier");
  command->add_option("--node", o->node, "Only on this node");
  command->add_option("--benchmark", o->benchmark, "Only of this benchmark");
  Choose(command->add_option("--outcome", o->outcome, "Only those that ended so"),
         {"ok", "failed", "invalid", "timeout", "skipped", "cancelled"});
  command->add_option("--since", o->since, "Only of so long ago until now, for example 24h");
  AddLimit(*command, o->limit, 1000000, "At most so many; default 50");
  AddWatch(*command, invocation);
}

void AddFindings(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o = AddCommand<FindingsOptions>(app, "findings", "What has become slower or faster, newest first",
                                       invocation, ShowFindings, command);
  auto* all = command->add_flag("--all", o->all, "Closed ones too");
  command->add_flag("--open", o->open, "Only open ones, which is the default")->excludes(all);
  command->add_flag("--worse", o->worse, "Only changes for the worse");
  command->add_flag("--members", o->members, "Also each series' own that belong to a finding about several");
  command->add_option("--node", o->node, "Only of this node");
  command->add_option("--benchmark", o->benchmark, "Only of this benchmark");
  command->add_option("--metric", o->metric, "Only of this metric");
  command->add_option("--since", o->since, "Only found so long ago until now, for example 24h");
  AddLimit(*command, o->limit, 1000000, "At most so many; default 100");
  AddWatch(*command, invocation);
}

void AddEvents(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o =
      AddCommand<EventsOptions>(app, "events", "What happened: changed facts, starts, notes; newest first",
                                invocation, ShowEvents, command);
  command->add_option("--node", o->node, "Only of this node");
  command->add_option("--since", o->since, "Only of so long ago until now, for example 24h");
  AddLimit(*command, o->limit, 1000000, "At most so many; default 50");
  AddWatch(*command, invocation);
}

void AddAudit(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o =
      AddCommand<AuditOptions>(app, "audit", "What people did and what was refused to them, newest first",
                               invocation, ShowAudit, command);
  command->add_option("--person", o->person, "Only of this person");
  command->add_flag("--refused", o->refused, "Only what was refused");
  command->add_option("--since", o->since, "Only of so long ago until now, for example 24h");
  AddLimit(*command, o->limit, 1000000, "At most so many; default 50");
}

}  // namespace

void DeclareViews(CLI::App& app, Invocation& invocation) {
  AddStatus(app, invocation);
  AddNodes(app, invocation);
  AddSeries(app, invocation);
  AddRuns(app, invocation);
  AddFindings(app, invocation);
  AddEvents(app, invocation);
  AddAudit(app, invocation);
}

}  // namespace fleetmark::cli
