// Names for completion, asked from the collector: of nodes, benchmarks, suites, metrics, series, runs,
// findings, alerts, silences and receivers; and of readers, which are in this program.
//
// Whoever presses the tab key waits: there is a second for all, and what has not come by then, or fails, is
// no candidate. At most 1,000 of runs and the like.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_COMMANDLINE_COMPLETION_VALUES_H_
#define FLEETMARK_CLI_COMMANDLINE_COMPLETION_VALUES_H_

#include <vector>

#include "cli/commandline/completion.h"
#include "cli/commands/client.h"
#include "common/base/clock.h"

namespace fleetmark::cli {

// `options` where the command line names no other collector.
std::vector<Candidate> CompletionValues(const ValueRequest& request, const Client::Options& options,
                                        Clock& clock);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_COMPLETION_VALUES_H_
