// What a plugin says of itself in its manifest.yaml (docs/plugin-protocol.md §1).
//
// Thread-safety: plain values; functions without state.
#ifndef FLEETMARK_COMMON_PLUGIN_MANIFEST_H_
#define FLEETMARK_COMMON_PLUGIN_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/struct.pb.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

enum class ResourceUse { kNone, kShared, kExclusive };

struct PluginResources {
  ResourceUse cpu = ResourceUse::kNone;
  ResourceUse gpu = ResourceUse::kNone;
  ResourceUse disk = ResourceUse::kNone;
  ResourceUse net = ResourceUse::kNone;
  int64_t memory_bytes = 0;  // the least free memory that a run needs
};

enum class Privileges { kNone, kRoot };

enum class ParamType { kBool, kInt, kFloat, kString, kDuration, kBytes, kList, kMap };

struct ParamSpec {
  std::string name;
  ParamType type = ParamType::kString;
  std::optional<std::string> default_json;  // canonical, as the plugin gets it; none: must be set
  std::optional<double> min;                // inclusive; seconds for a duration, bytes for a size
  std::optional<double> max;
  std::vector<std::string> choices;  // empty: any text
  std::string summary;
};

struct MetricSpec {
  std::string name;
  std::string unit;
  v1::Better better = v1::BETTER_NONE;
  double noise = 0;  // typical relative spread from run to run; 0: not known
  std::vector<std::string> labels;
  bool required = true;
  std::string summary;
};

struct SelfCheck {
  std::string params_json = "{}";
  absl::Duration timeout = absl::Seconds(60);
};

struct PluginManifest {
  std::string name;
  std::string version;
  std::string summary;
  std::vector<std::string> command;
  PluginResources resources;
  Privileges privileges = Privileges::kNone;
  bool local_only = false;  // its parameters name programs: only the node's own configuration may set them
  absl::Duration timeout = absl::Minutes(5);
  std::vector<ParamSpec> params;
  std::vector<MetricSpec> metrics;
  bool dynamic_metrics = false;
  SelfCheck self_check;

  const ParamSpec* FindParam(std::string_view name) const;
  const MetricSpec* FindMetric(std::string_view name) const;
};

// InvalidArgument with every fault, one a line, as "origin:line:column: key: what is wrong".
absl::StatusOr<PluginManifest> ParseManifest(std::string_view text, std::string_view origin);

// "higher", "lower", "none", as manifests and plugin lines write it; nothing for another text.
std::optional<v1::Better> ParseBetter(std::string_view text);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_PLUGIN_MANIFEST_H_
