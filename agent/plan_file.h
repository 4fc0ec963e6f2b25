// The collector's last plan, kept in the data folder so that an agent works alone.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_AGENT_PLAN_FILE_H_
#define FLEETMARK_AGENT_PLAN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

// An empty plan when there is none yet. DataLoss: the file is damaged; it can't be read: others.
absl::StatusOr<v1::Plan> LoadPlan(const std::string& data_dir);

// Durable when it returns OK.
absl::Status SavePlan(const std::string& data_dir, const v1::Plan& plan);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_PLAN_FILE_H_
