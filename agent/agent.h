// The agent: builds its parts and joins them.
//
// Thread-safety: called from main alone. Ownership: owns everything that runs in the agent.
#ifndef FLEETMARK_AGENT_AGENT_H_
#define FLEETMARK_AGENT_AGENT_H_

#include <memory>

#include "absl/status/status.h"

#include "agent/benchmark_set.h"
#include "agent/config.h"

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
