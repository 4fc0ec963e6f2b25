// The user that plugins run as, and whether that user can get at what it shall run.
//
// Thread-safety: functions without state. They block: they ask the system's user database and files.
#ifndef FLEETMARK_AGENT_PLUGIN_USER_H_
#define FLEETMARK_AGENT_PLUGIN_USER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/run/runner.h"

namespace fleetmark::agent {

// By the name that the configuration gives. Without one an agent that is root takes "fleetmark-run" where
// that user exists, else "nobody"; another agent has no choice but itself. Nothing when plugins run as the
// agent does. InvalidArgument for an unknown user, and for another than itself when the agent isn't root.
absl::StatusOr<std::optional<RunUser>> FindPluginUser(const std::string& configured);

// FailedPrecondition when `user` can't execute the program, or for a folder enter it.
absl::Status CheckReachable(const std::string& path, const RunUser& user);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_PLUGIN_USER_H_
