// Suites: the benchmarks that a set of nodes runs, as YAML files that agents include and collectors load. The
// same file serves both; docs/configuration.md lists its keys.
//
//   suite: gpu
//   nodes: {labels: {class: gpu}}      # absent: every node
//   benchmarks:
//     - {name: gemm, plugin: gemm, schedule: every 30m}
//
// Thread-safety: plain data and functions without state. Errors: InvalidArgument with every fault of a file
// at once, each as "file:line:column: key: what is wrong"; NotFound and so on when it can't be read.
#ifndef FLEETMARK_COMMON_DAEMON_SUITE_FILE_H_
#define FLEETMARK_COMMON_DAEMON_SUITE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "common/config/yaml_reader.h"
#include "common/model/labels.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

// A configured benchmark and where it stands, for messages about it.
struct BenchmarkConfig {
  v1::Benchmark benchmark;
  std::string where;  // "file:line:column"
};

struct Suite {
  std::string name;
  std::vector<std::string> node_names;  // with * and ?; a node matches one of them; empty: any
  Labels node_labels;                   // all of which a node has
  std::vector<BenchmarkConfig> benchmarks;

  bool Selects(const std::string& node, const Labels& labels) const;
};

// Faults of two files as one error; OK when both are.
absl::Status AllFaults(const absl::Status& a, const absl::Status& b);

absl::StatusOr<Suite> LoadSuite(const std::string& path);

// A list of benchmarks. One whose name is in `out` already is a fault, as is one too many for a node.
void ReadBenchmarks(YamlValue list, const std::string& suite, std::vector<BenchmarkConfig>& out);

// The same for those of a suite that was read apart; `origin` notes the fault.
void AddBenchmarks(YamlValue& origin, std::vector<BenchmarkConfig> more, std::vector<BenchmarkConfig>& out);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_DAEMON_SUITE_FILE_H_
