// fleetmark-collector check, repair, compact and restore: care of a store that no collector has open.
//
// Thread-safety: called from main alone.
#ifndef FLEETMARK_COLLECTOR_STORE_COMMANDS_H_
#define FLEETMARK_COLLECTOR_STORE_COMMANDS_H_

#include <string>
#include <vector>

#include "collector/config.h"

namespace fleetmark::collector {

// The program's exit status. What was found goes to standard output, an error to standard error.
int RunStoreCommand(const std::vector<std::string>& arguments, const CollectorConfig& config);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_COMMANDS_H_
