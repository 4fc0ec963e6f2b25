#include <string>

#include "absl/strings/str_cat.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

constexpr size_t kShortId = 6;

Cell IdCell(const std::string& id) {
  return Cell(id.size() > kShortId ? id.substr(id.size() - kShortId) : id, id, id);
}

Cell StateCell(const v1::Action& action) {
  const std::string name = absl::StrCat(NameOf(action.state()), action.dry_run() ? " (dry run)" : "");
  if (action.state() == v1::Action::STATE_HELD) return Cell(name, Look::kBad);
  if (action.state() == v1::Action::STATE_UNDONE) return Cell(name, Look::kGood);
  return name;
}

// One line: may anything be done, and if not, why not.
std::string SwitchText(const v1::ListActionsResponse& response) {
  if (!response.enabled()) return "off: actions.enabled is false in the collector's configuration";
  if (response.switch_().stopped()) {
    return absl::StrCat("stopped by ", response.switch_().by(), response.switch_().note().empty() ? "" : ": ",
                        response.switch_().note());
  }
  if (!response.trouble().empty()) return absl::StrCat("in trouble: ", response.trouble());
  return response.dry_run() ? "dry run: nothing is touched" : "on";
}

void PrintList(const v1::ListActionsResponse& response, Session& session) {
  const absl::Time now = session.clock.Now();
  session.output.Note(absl::StrCat("actions are ", SwitchText(response)));
  Table table(
      {{"ACTION"}, {"STATE"}, {"WHAT"}, {"NODE"}, {"BEGUN"}, {"ALERT"}, {"NOTE"}, {"RULE", false, true}});
  for (const v1::Action& action : response.actions()) {
    table.AddRow({IdCell(action.action_id()), StateCell(action), NameOf(action.kind()), action.node(),
                  TimeCell(action.begun_unix_ns(), now), IdCell(action.alert_id()),
                  action.note().empty() ? action.evidence() : action.note(), action.rule()});
  }
  session.output.Print(table, "no action that matches; --all shows those that are over too");
  if (response.held_back().empty()) return;
  Table held({{"NODE"}, {"NOT DONE BECAUSE"}, {"ALERT"}, {"RULE"}});
  for (const v1::ActionHeldBack& entry : response.held_back()) {
    held.AddRow({entry.node(), entry.why(), IdCell(entry.alert_id()), entry.rule()});
  }
  session.output.Print(held, "");
}

CommandResult Switch(bool stop, const ActionCommandOptions& options, Session& session) {
  v1::SwitchActionsRequest request;
  request.set_stop(stop);
  request.set_by(AskedBy());
  request.set_note(options.note);
  FM_ASSIGN_OR_RETURN(const v1::SwitchActionsResponse response, session.client.SwitchActions(request));
  if (session.output.document()) {
    FM_RETURN_IF_ERROR(session.output.Document(response));
  } else {
    session.output.Say(
        stop ? "stopped: nothing is done to nodes, or taken back, until `fleetmark actions resume`"
             : "actions go on");
  }
  return kExitOk;
}

}  // namespace

CommandResult ListActions(const ActionsOptions& options, Session& session) {
  v1::ListActionsRequest request;
  request.set_all(options.all);
  request.set_node(options.node);
  request.set_limit(options.limit);
  FM_ASSIGN_OR_RETURN(const v1::ListActionsResponse response, session.client.ListActions(request));
  if (session.output.document()) {
    FM_RETURN_IF_ERROR(session.output.Document(response));
  } else {
    PrintList(response, session);
  }
  if (!response.next_page_token().empty()) session.output.Note("there are older ones; --limit shows them");
  return kExitOk;
}

CommandResult ShowAction(const ActionCommandOptions& options, Session& session) {
  v1::GetActionRequest request;
  request.set_action_id(options.id);
  FM_ASSIGN_OR_RETURN(const v1::GetActionResponse response, session.client.GetAction(request));
  if (session.output.document()) {
    FM_RETURN_IF_ERROR(session.output.Document(response));
    return kExitOk;
  }
  const v1::Action& action = response.action();
  session.output.Say(absl::StrCat("Action ", action.action_id(), ", ", NameOf(action.state()),
                                  action.dry_run() ? " (dry run)" : "", ": ", NameOf(action.kind()), " of ",
                                  action.target(), "\nbecause ", action.evidence(), "\n"));
  Table table({{"TIME"}, {"THEN"}, {"BY"}, {"TEXT"}, {"NUMBER", true, true}});
  for (const v1::ActionChange& change : response.history()) {
    table.AddRow({Cell(FormatTime(change.time_unix_ns())), NameOf(change.state()), change.by(), change.text(),
                  CountCell(change.sequence())});
  }
  session.output.Print(table, "nothing happened to it yet");
  return kExitOk;
}

CommandResult StopActions(const ActionCommandOptions& options, Session& session) {
  return Switch(true, options, session);
}

CommandResult ResumeActions(const ActionCommandOptions& options, Session& session) {
  return Switch(false, options, session);
}

CommandResult UndoAction(const ActionCommandOptions& options, Session& session) {
  v1::UndoActionRequest request;
  request.set_action_id(options.id);
  request.set_by(AskedBy());
  FM_ASSIGN_OR_RETURN(const v1::UndoActionResponse response, session.client.UndoAction(request));
  if (session.output.document()) {
    FM_RETURN_IF_ERROR(session.output.Document(response));
  } else {
    session.output.Say(absl::StrCat("is taken back: ", NameOf(response.action().kind()), " of ",
                                    response.action().target()));
  }
  return kExitOk;
}

}  // namespace fleetmark::cli
