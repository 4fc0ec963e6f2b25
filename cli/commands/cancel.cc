#include "absl/strings/str_cat.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "common/base/status.h"

namespace fleetmark::cli {

CommandResult CancelRun(const CancelOptions& options, Session& session) {
  v1::CancelRunRequest request;
  request.set_node(options.node);
  request.set_run_id(options.run_id);
  request.set_reason(
      absl::StrCat(options.reason.empty() ? "cancelled" : options.reason, " (", AskedBy(), ")"));
  FM_ASSIGN_OR_RETURN(const v1::CancelRunResponse response, session.client.CancelRun(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else {
    session.output.Say(absl::StrCat("asked ", options.node, " to stop the run; `fleetmark runs ",
                                    options.run_id, "` shows how it ended"));
  }
  return kExitOk;
}

}  // namespace fleetmark::cli
