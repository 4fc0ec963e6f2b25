#include "absl/strings/str_cat.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

absl::StatusOr<v1::Event::Kind> ParseKind(const std::string& text) {
  if (text == "note") return v1::Event::KIND_NOTE;
  if (text == "maintenance") return v1::Event::KIND_MAINTENANCE;
  if (text == "deployment") return v1::Event::KIND_DEPLOYMENT;
  return absl::InvalidArgumentError(
      absl::StrCat("--kind ", text, ": choose from note, maintenance, deployment"));
}

}  // namespace

CommandResult AddNote(const NoteOptions& options, Session& session) {
  v1::AddEventRequest request;
  v1::Event& event = *request.mutable_event();
  FM_ASSIGN_OR_RETURN(const v1::Event::Kind kind, ParseKind(options.kind));
  event.set_kind(kind);
  if (options.node != "-") event.set_node(options.node);
  event.set_time_unix_ns(absl::ToUnixNanos(session.clock.Now()));
  event.set_message(options.text);
  event.set_author(AskedBy());
  FM_ASSIGN_OR_RETURN(const v1::AddEventResponse response, session.client.AddEvent(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else {
    session.output.Say(absl::StrCat("noted as ", response.event_id(), "; `fleetmark events` shows it"));
  }
  return kExitOk;
}

}  // namespace fleetmark::cli
