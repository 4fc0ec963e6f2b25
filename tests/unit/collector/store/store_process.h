// A program that works on a store until something ends it, started anew each time so that it has RocksDB's
// threads for itself, and tells what it has acknowledged.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_TESTS_UNIT_COLLECTOR_STORE_STORE_PROCESS_H_
#define FLEETMARK_TESTS_UNIT_COLLECTOR_STORE_STORE_PROCESS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace fleetmark::collector {

struct EndOfProcess {
  uint64_t acknowledged = 0;  // the last that it told
  int exit_status = 0;        // -1: a signal ended it
  int signal = 0;
};

// Runs this test's own program with `arguments`. Kills it `kill_after_ms` after it first told something; -1:
// waits for its end.
EndOfProcess RunSelf(const std::vector<std::string>& arguments, int kill_after_ms = -1);

// In that process: tells that everything up to `sequence` is durable.
void Acknowledge(uint64_t sequence);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_TESTS_UNIT_COLLECTOR_STORE_STORE_PROCESS_H_
