#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

constexpr size_t kShortId = 6;  // enough to tell a site's alerts apart

Cell StateCell(v1::AlertLife::State state) {
  switch (state) {
    case v1::AlertLife::STATE_FIRING:
      return Cell(NameOf(state), Look::kBad);
    case v1::AlertLife::STATE_RESOLVED:
      return Cell(NameOf(state), Look::kGood);
    case v1::AlertLife::STATE_SILENCED:
    case v1::AlertLife::STATE_PENDING:
      return Cell(NameOf(state), Look::kDim);
    default:
      return NameOf(state);
  }
}

Cell IdCell(const std::string& id) {
  return Cell(id.size() > kShortId ? id.substr(id.size() - kShortId) : id, id, id);
}

absl::StatusOr<v1::AlertLife::State> ParseState(const std::string& text) {
  if (text.empty()) return v1::AlertLife::STATE_UNSPECIFIED;
  std::vector<std::string> names;
  for (int i = v1::AlertLife::State_MIN + 1; i <= v1::AlertLife::State_MAX; ++i) {
    const auto state = static_cast<v1::AlertLife::State>(i);
    names.push_back(NameOf(state));
    if (names.back() == text) return state;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--state ", text, ": choose from ", absl::StrJoin(names, ", ")));
}

// Why it is quiet, or who looks after it.
std::string NoteText(const v1::AlertLife& life) {
  std::vector<std::string> parts;
  if (life.has_acknowledged()) {
    const v1::Acknowledgement& ack = life.acknowledged();
    parts.push_back(absl::StrCat("by ", ack.by(), ack.note().empty() ? "" : ": ", ack.note()));
  }
  for (const v1::AlertMute& mute : life.mutes()) parts.push_back(mute.text());
  if (life.flapping()) parts.push_back("flapping");
  if (life.state() == v1::AlertLife::STATE_RESOLVED) parts.push_back(life.resolution());
  return absl::StrJoin(parts, "; ");
}

void PrintList(const v1::ListAlertsResponse& response, Session& session) {
  const absl::Time now = session.clock.Now();
  Table table({{"ALERT"},
               {"STATE"},
               {"SEVERITY"},
               {"CLASS"},
               {"FIRES SINCE"},
               {"NODES", true},
               {"WHAT"},
               {"NOTE"},
               {"FINDINGS", true, true},
               {"FIRED", true, true},
               {"TOLD", false, true}});
  for (const v1::Alert& alert : response.alerts()) {
    const v1::AlertLife& life = alert.life();
    const int64_t since = life.firing_unix_ns() != 0 ? life.firing_unix_ns() : life.opened_unix_ns();
    table.AddRow({IdCell(alert.alert_id()), StateCell(life.state()), NameOf(alert.severity()),
                  NameOf(alert.class_()), TimeCell(since, now), CountCell(alert.node_count()), alert.title(),
                  NoteText(life), CountCell(alert.finding_count()), CountCell(life.firings()),
                  absl::StrJoin(life.told(), ",")});
  }
  session.output.Print(table, "no alert that matches; --all shows resolved ones too");
}

absl::StatusOr<v1::GetAlertResponse> GetAlert(const std::string& id, Session& session) {
  v1::GetAlertRequest request;
  request.set_alert_id(id);
  return session.client.GetAlert(request);
}

}  // namespace

CommandResult ListAlerts(const AlertsOptions& options, Session& session) {
  v1::ListAlertsRequest request;
  FM_ASSIGN_OR_RETURN(const v1::AlertLife::State state, ParseState(options.state));
  request.set_state(state);
  request.set_all(options.all);
  request.set_node(options.node);
  request.set_limit(options.limit);
  FM_ASSIGN_OR_RETURN(const v1::ListAlertsResponse response, session.client.ListAlerts(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else {
    PrintList(response, session);
  }
  if (!response.next_page_token().empty()) session.output.Note("there are older ones; --limit shows them");
  return kExitOk;
}

CommandResult ShowAlert(const AlertOptions& options, Session& session) {
  FM_ASSIGN_OR_RETURN(const v1::GetAlertResponse response, GetAlert(options.id, session));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
    return kExitOk;
  }
  const v1::AlertLife& life = response.alert().life();
  const std::string note = NoteText(life);
  session.output.Say(absl::StrCat("Alert ", response.alert().alert_id(), ", ", NameOf(life.state()),
                                  note.empty() ? "" : absl::StrCat(" (", note, ")"), "\n\n",
                                  response.text()));
  return kExitOk;
}

CommandResult ShowAlertHistory(const AlertOptions& options, Session& session) {
  FM_ASSIGN_OR_RETURN(const v1::GetAlertResponse response, GetAlert(options.id, session));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
    return kExitOk;
  }
  Table table({{"TIME"}, {"WHAT"}, {"THEN"}, {"BY"}, {"RECEIVERS"}, {"TEXT"}, {"NUMBER", true, true}});
  for (const v1::AlertChange& change : response.history()) {
    const std::string time = FormatTime(change.time_unix_ns());
    table.AddRow({Cell(time), NameOf(change.kind()), NameOf(change.state()), change.by(),
                  absl::StrJoin(change.receivers(), ","), change.text(), CountCell(change.sequence())});
  }
  session.output.Print(table, "nothing happened to it yet");
  return kExitOk;
}

CommandResult AcknowledgeAlert(const AlertOptions& options, Session& session) {
  v1::AckAlertRequest request;
  request.set_alert_id(options.id);
  request.set_by(AskedBy());
  request.set_note(options.note);
  request.set_undo(options.undo);
  FM_ASSIGN_OR_RETURN(const v1::AckAlertResponse response, session.client.AckAlert(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else {
    session.output.Say(absl::StrCat(options.undo ? "not acknowledged any more: " : "acknowledged: ",
                                    response.alert().title()));
  }
  return kExitOk;
}

CommandResult ShowReceivers(Session& session) {
  FM_ASSIGN_OR_RETURN(const v1::ListReceiversResponse response,
                      session.client.ListReceivers(v1::ListReceiversRequest()));
  bool trouble = false;
  for (const v1::ReceiverStatus& receiver : response.receivers())
    trouble = trouble || !receiver.trouble().empty();
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
    return trouble ? kExitProblem : kExitOk;
  }
  const absl::Time now = session.clock.Now();
  Table table({{"RECEIVER"},
               {"KIND"},
               {"WAITING", true},
               {"OLDEST"},
               {"DELIVERED", true},
               {"GIVEN UP", true},
               {"TROUBLE"}});
  for (const v1::ReceiverStatus& receiver : response.receivers()) {
    const bool waits = receiver.oldest_unix_ns() != 0;
    table.AddRow({receiver.name(), receiver.kind(), CountCell(receiver.waiting()),
                  waits ? TimeCell(receiver.oldest_unix_ns(), now) : Cell(""),
                  CountCell(receiver.delivered()), CountCell(receiver.dead()),
                  Cell(receiver.trouble(), receiver.trouble().empty() ? Look::kPlain : Look::kBad)});
  }
  session.output.Print(table, "nobody is told: no receiver is configured (docs/alerts.md)");
  return trouble ? kExitProblem : kExitOk;
}

}  // namespace fleetmark::cli
