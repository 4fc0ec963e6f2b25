#include <string>

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"

namespace fleetmark::cli {

CommandResult ShowAudit(const AuditOptions& options, Session& session) {
  v1::ListAuditRequest request;
  request.set_person(options.person);
  request.set_refused(options.refused);
  FM_ASSIGN_OR_RETURN(*request.mutable_range(), RangeSince(options.since, session.clock.Now()));
  request.set_limit(options.limit);
  FM_ASSIGN_OR_RETURN(const v1::ListAuditResponse response, session.client.ListAudit(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
    return kExitOk;
  }
  const absl::Time now = session.clock.Now();
  Table table({{"TIME"},
               {"PERSON"},
               {"ROLE"},
               {"KNOWN BY", false, true},
               {"FROM"},
               {"STATUS"},
               {"ACTION"},
               {"REASON"}});
  for (const v1::AuditEntry& entry : response.entries()) {
    table.AddRow({TimeCell(entry.time_unix_ns(), now), entry.person().empty() ? "-" : entry.person(),
                  entry.role(), entry.means(), entry.address(), entry.status(), entry.action(),
                  entry.reason()});
  }
  session.output.Print(table, "nothing was done or refused that matches");
  if (!response.next_page_token().empty()) session.output.Note("there are older ones; --limit shows them");
  return kExitOk;
}

}  // namespace fleetmark::cli
