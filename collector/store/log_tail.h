// Tells a log of RocksDB (write-ahead log or MANIFEST) whose end a crash cut off from one that was damaged
// near its end.
//
// RocksDB takes a record whose length does not fit for one that was being written when the process died, and
// silently forgets it with all that follows in its block. Since every write is synced before the next begins,
// nothing whole can follow one that was cut off: where it does, the log is damaged. The format is that of
// RocksDB's wiki page "Write Ahead Log File Format".
//
// Thread-safety: functions without state. Errors: DataLoss with the file and place; Unavailable.
#ifndef FLEETMARK_COLLECTOR_STORE_LOG_TAIL_H_
#define FLEETMARK_COLLECTOR_STORE_LOG_TAIL_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace fleetmark::collector {

// `name` is for messages.
absl::Status CheckLogTail(std::string_view log, const std::string& name);

// All logs of a store's folder that opening it reads.
absl::Status CheckLogTails(const std::string& folder);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_LOG_TAIL_H_
