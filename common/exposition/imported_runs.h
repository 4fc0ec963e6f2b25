// Turns measurements of other tools into runs: those of one node and benchmark at one time are one run, whose
// identifier is made of its content, so that importing the same again changes nothing.
//
// Thread-safety: none. Errors: InvalidArgument says why a measurement can't be part of a run.
#ifndef FLEETMARK_COMMON_EXPOSITION_IMPORTED_RUNS_H_
#define FLEETMARK_COMMON_EXPOSITION_IMPORTED_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/exposition/openmetrics.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark {

struct ImportedMetric {
  std::string node;
  std::string benchmark;
  std::string metric;
  std::string unit;  // of common/model/units.h; empty: "1"
  std::map<std::string, std::string> labels;
  double value = 0;
  int64_t time_unix_ns = 0;
  v1::Better better = v1::BETTER_NONE;
};

// For what a sample in Prometheus' terms leaves open.
struct ImportDefaults {
  std::string node;       // of samples with neither `node` nor `instance`
  std::string benchmark;  // of samples with neither `benchmark` nor `job`
};

// A sample in Prometheus' terms: the node from its label `node`, else from `instance` without its port; the
// benchmark from `benchmark`, else from `job`; the unit from the end of its name ("_seconds",
// "_bytes_per_second"), which a name that Fleetmark itself gave loses again. The labels that Fleetmark adds
// (plugin, plugin_version, params, node_…) are left out.
absl::StatusOr<ImportedMetric> FromSample(const ExpositionSample& sample, const ImportDefaults& defaults);

class ImportedRuns {
 public:
  struct Run {
    v1::NodeRun run;
    size_t line = 0;  // where the first of its metrics came from
  };

  // `line` is any number that tells the caller where it came from.
  absl::Status Add(const ImportedMetric& metric, size_t line);
  size_t metrics() const { return metrics_; }

  // All runs so far, oldest first for each node. It is empty then.
  std::vector<Run> Take();

 private:
  std::map<std::tuple<std::string, std::string, int64_t>, Run> runs_;
  size_t metrics_ = 0;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_EXPOSITION_IMPORTED_RUNS_H_
