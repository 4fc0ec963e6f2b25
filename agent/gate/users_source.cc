#include "agent/gate/users_source.h"

#include <string.h>
#include <utmp.h>

#include "absl/strings/str_cat.h"

#include "agent/gate/proc_reader.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kUtmpBytes = 4 << 20;

std::string Field(const char* text, size_t size) { return std::string(text, strnlen(text, size)); }

}  // namespace

GateAnswer UsersSource::BeforeRun(const GateQuery&) {
  if (!options_.enabled) return GateAnswer::Free();
  const absl::StatusOr<std::string> file = ReadFile(options_.utmp, kUtmpBytes);
  if (absl::IsNotFound(file.status())) return GateAnswer::Free();
  if (!file.ok()) return GateAnswer::Unknown(Message(file.status()));
  const ProcReader proc(options_.root);
  for (size_t at = 0; at + sizeof(utmp) <= file->size(); at += sizeof(utmp)) {
    utmp entry;
    memcpy(&entry, file->data() + at, sizeof entry);
    // A session that did not log out properly stays in the file; its process does not.
    if (entry.ut_type != USER_PROCESS || !proc.Read(entry.ut_pid).has_value()) continue;
    return GateAnswer::Busy(absl::StrCat("user ", Field(entry.ut_user, sizeof entry.ut_user),
                                         " is logged in (", Field(entry.ut_line, sizeof entry.ut_line), ")"));
  }
  return GateAnswer::Free();
}

}  // namespace fleetmark::agent
