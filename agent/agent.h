// The agent: builds its parts and joins them.
//
// Thread-safety: called from main alone. Ownership: owns everything that runs in the agent.
#ifndef FLEETMARK_AGENT_AGENT_H_
#define FLEETMARK_AGENT_AGENT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "agent/benchmark_set.h"
#include "agent/config.h"
#include "agent/local_control.h"

namespace fleetmark::agent {

class Agent {
 public:
  Agent(AgentConfig config, std::shared_ptr<const BenchmarkSet> benchmarks);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // The two steps of a start, apart because they fail for different reasons: the data folder, then the
  // HTTP address. After an error only the destructor may follow.
  absl::Status OpenData();
  absl::Status Serve();

  // In place of Serve: runs one benchmark, as the agent would, and nothing that is scheduled.
  absl::StatusOr<v1::RunProgress> RunOnce(const LocalRunRequest& request);

  // Takes over the benchmarks and plugins of a new configuration; nothing else of it.
  void Reload(std::shared_ptr<const BenchmarkSet> benchmarks);

  // Cancels and records what runs, sends what it can within the configured time, and ends every thread.
  void Stop();

  struct Parts;  // agent_parts.h

 private:
  const AgentConfig config_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_AGENT_H_
