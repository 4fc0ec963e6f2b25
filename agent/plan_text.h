// What runs when, as text for people: `fleetmark-agent plan`.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_AGENT_PLAN_TEXT_H_
#define FLEETMARK_AGENT_PLAN_TEXT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "agent/schedule/budget.h"
#include "agent/schedule/scheduler.h"

namespace fleetmark::agent {

// A table of benchmarks, the next one first, with the time budget above it. `running` is whether an agent
// runs, which alone knows what waits.
std::string PlanText(std::vector<Scheduler::Plan> plans, Budget& budget, bool running, absl::Time now);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_PLAN_TEXT_H_
