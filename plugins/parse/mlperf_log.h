// MLPerf's structured log: records ":::MLLOG {...}" anywhere in a line, several in one line, or one broken
// over lines by a newline in a string. Format: mlperf_logging's mllog (training, HPC) and LoadGen.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_PLUGINS_PARSE_MLPERF_LOG_H_
#define FLEETMARK_PLUGINS_PARSE_MLPERF_LOG_H_

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "plugins/parse/parsed_output.h"

namespace fleetmark::parse {

struct MllogRecord {
  size_t line = 0;
  std::string key;
  std::string event;
  double time_ms = 0;
  bool loadgen = false;  // time_ms counts from the test's start, not from 1970
  nlohmann::json value;
  nlohmann::json metadata;
};

// In the order of the text. A record that can't be read is a warning of `report`; the others are kept.
std::vector<MllogRecord> FindMllogRecords(const Text& text, Report& report);

// The metrics of the runs that the records tell of. Several runs in one log are told apart by init_start.
void ReadMllogRecords(const std::vector<MllogRecord>& records, Report& report);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_MLPERF_LOG_H_
