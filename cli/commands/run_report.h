// How a run looks, for `runs` and for the end of `run`.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_COMMANDS_RUN_REPORT_H_
#define FLEETMARK_CLI_COMMANDS_RUN_REPORT_H_

#include <string>

#include "absl/time/time.h"

#include "cli/output/output.h"
#include "cli/output/table.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::cli {

Look LookOf(v1::Outcome outcome);

// "timeout: no result after 5m"; "ok".
std::string OutcomeLine(const v1::Run& run);

// When it started, or when it should have.
int64_t RunTime(const v1::Run& run);

Table MetricsTable(const v1::Run& run);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_RUN_REPORT_H_
