#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

// What happened: the message, and the change of a fact where the message does not name it.
std::string WhatHappened(const v1::Event& event) {
  const bool change = !event.old_value().empty() || !event.new_value().empty();
  if (!change || (!event.message().empty() && absl::StrContains(event.message(), event.new_value()))) {
    return event.message();
  }
  return absl::StrCat(event.message(), event.message().empty() ? "" : ": ",
                      event.old_value().empty() ? "(none)" : event.old_value(), " → ",
                      event.new_value().empty() ? "(none)" : event.new_value());
}

}  // namespace

CommandResult ShowEvents(const EventsOptions& options, Session& session) {
  v1::ListEventsRequest request;
  request.set_node(options.node);
  FM_ASSIGN_OR_RETURN(*request.mutable_range(), RangeSince(options.since, session.clock.Now()));
  request.set_limit(options.limit);
  FM_ASSIGN_OR_RETURN(const v1::ListEventsResponse response, session.client.ListEvents(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
    return kExitOk;
  }
  const absl::Time now = session.clock.Now();
  Table table({{"TIME"}, {"NODE"}, {"KIND"}, {"SUBJECT"}, {"BY"}, {"EVENT", false, true}, {"WHAT"}});
  for (const v1::Event& event : response.events()) {
    table.AddRow({TimeCell(event.time_unix_ns(), now), event.node().empty() ? "-" : event.node(),
                  NameOf(event.kind()), event.subject(), event.author(), event.event_id(),
                  WhatHappened(event)});
  }
  session.output.Print(table, "no event yet that matches; `fleetmark note NODE TEXT` records one");
  if (!response.next_page_token().empty()) session.output.Note("there are older ones; --limit shows them");
  return kExitOk;
}

}  // namespace fleetmark::cli
