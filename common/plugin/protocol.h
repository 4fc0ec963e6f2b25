// One line of a plugin's standard output, checked against its manifest (docs/plugin-protocol.md §3). Pure.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_PLUGIN_PROTOCOL_H_
#define FLEETMARK_COMMON_PLUGIN_PROTOCOL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "common/plugin/manifest.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

struct PluginEvent {
  enum class Kind { kMetric, kSample, kProgress, kEvent, kLog, kArtifact, kInvalid, kDone };

  Kind kind = Kind::kLog;
  v1::Metric metric;            // of metric and sample: complete but for the repetitions
  double fraction = 0;          // of progress, 0 to 1
  std::string message;          // of progress, event, log and invalid: valid UTF-8
  std::string name;             // of artifact
  std::string path;             // of artifact: inside the working folder
  bool repaired = false;        // the text was not UTF-8, or had control characters
  bool unknown_fields = false;  // it has fields that this version does not know
};

// A line that does not begin with '{' is log text. InvalidArgument when the run is invalid by this line:
// no strict JSON, an unknown type or metric, a wrong unit, label or direction, a value that is not a
// finite number. ResourceExhausted when it exceeds a limit, for which a run is stopped.
absl::StatusOr<PluginEvent> ParseLine(std::string_view line, const PluginManifest& manifest);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_PLUGIN_PROTOCOL_H_
