#include "absl/strings/str_cat.h"

#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"

namespace fleetmark::cli {

CommandResult MakeBackup(const BackupOptions&, Session& session) {
  FM_ASSIGN_OR_RETURN(const v1::BackupResponse made, session.client.Backup({}));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(made));
    return kExitOk;
  }
  session.output.Say(absl::StrCat("backup made: ", made.folder(), " (", made.files(), " files, ",
                                  FormatHumanBytes(made.bytes()), ")"));
  if (made.linked()) {
    session.output.Say(
        "it shares files with the store, on the same disk: it does not outlive that disk; copy it elsewhere");
  }
  if (!made.removed().empty()) session.output.Say(absl::StrCat("removed ", made.removed_size(), " older"));
  return kExitOk;
}

}  // namespace fleetmark::cli
