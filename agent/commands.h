// The commands of fleetmark-agent beside running as a daemon; see agent/local_control.h.
//
// Thread-safety: called from main alone.
#ifndef FLEETMARK_AGENT_COMMANDS_H_
#define FLEETMARK_AGENT_COMMANDS_H_

#include <memory>
#include <string>
#include <vector>

#include "agent/benchmark_set.h"
#include "agent/config.h"

namespace fleetmark::agent {

// Whether `arguments` are a command with what it needs; InvalidArgument says what would be right. No
// arguments are no command.
absl::StatusOr<bool> IsCommand(const std::vector<std::string>& arguments);

// Runs it and returns its exit status.
int RunCommand(const std::vector<std::string>& arguments, const AgentConfig& config,
               const std::shared_ptr<const BenchmarkSet>& benchmarks);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_COMMANDS_H_
