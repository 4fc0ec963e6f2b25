// The largest of everything that comes from outside. The agent enforces them when a run is recorded and
// the collector again when it arrives; docs/wire.md states them for people.
#ifndef FLEETMARK_COMMON_MODEL_LIMITS_H_
#define FLEETMARK_COMMON_MODEL_LIMITS_H_

#include <cstddef>

namespace fleetmark::limits {

inline constexpr size_t kNodeNameBytes = 253;  // as a DNS name
inline constexpr size_t kNameBytes = 64;       // benchmark, plugin, metric, label, suite
inline constexpr size_t kVersionBytes = 64;
inline constexpr size_t kUnitBytes = 32;
inline constexpr size_t kLabelValueBytes = 256;
inline constexpr size_t kLabelsPerMetric = 8;
inline constexpr size_t kLabelsPerNode = 32;
inline constexpr size_t kMetricsPerRun = 1000;
inline constexpr size_t kParamsJsonBytes = 16 * 1024;
inline constexpr size_t kReasonBytes = 1024;
inline constexpr size_t kLogTailBytes = 16 * 1024;
inline constexpr size_t kWarningsPerRun = 32;
inline constexpr size_t kNotesPerRun = 32;
inline constexpr size_t kConditionsPerRun = 64;
inline constexpr size_t kFactsPerNode = 1000;
inline constexpr size_t kFactNameBytes = 128;
inline constexpr size_t kFactValueBytes = 1024;
inline constexpr size_t kPluginsPerNode = 1000;
inline constexpr size_t kBenchmarksPerNode = 1000;
inline constexpr int kProblemsPerPlan = 20;  // that a node tells of a plan which it refuses
inline constexpr size_t kEventTextBytes = 4096;
inline constexpr size_t kRecordBytes = 1024 * 1024;       // one serialised Record
inline constexpr size_t kBatchBytes = 2 * 1024 * 1024;    // one RecordBatch; above the largest record
inline constexpr size_t kMessageBytes = 4 * 1024 * 1024;  // any message on the wire
inline constexpr size_t kConfigFileBytes = 4 * 1024 * 1024;
inline constexpr size_t kManifestBytes = 256 * 1024;
inline constexpr double kClockSkewSeconds = 900;             // a clock that is off by more is wrong
inline constexpr double kClockRepairSeconds = 400 * 86'400;  // records stamped further ahead are refused

}  // namespace fleetmark::limits

#endif  // FLEETMARK_COMMON_MODEL_LIMITS_H_
