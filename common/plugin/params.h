// The parameters of a run: what a benchmark sets, checked against the manifest, defaults filled in.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_PLUGIN_PARAMS_H_
#define FLEETMARK_COMMON_PLUGIN_PARAMS_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/struct.pb.h"

#include "common/plugin/manifest.h"

namespace fleetmark {

struct ResolvedParams {
  google::protobuf::Struct values;  // every parameter of the manifest; durations in seconds, sizes in bytes
  std::string json;                 // the same as canonical JSON
  // The first 16 hex digits of the SHA-256 of the plugin's name, a newline, and `json`.
  std::string digest;
  std::map<std::string, std::string> environment;  // FLEETMARK_PARAM_<NAME>, but for lists and maps
};

// `params_json` is an object, or empty for none. InvalidArgument with all faults, joined by "; ": an
// unknown parameter (with the nearest known one), a missing one, a wrong type, range or choice, or more
// than limits::kParamsJsonBytes in all.
absl::StatusOr<ResolvedParams> ResolveParams(const PluginManifest& manifest, std::string_view params_json);

// `value` as the plugin gets it. InvalidArgument says what would be right, without the parameter's name.
absl::StatusOr<google::protobuf::Value> CheckParam(const ParamSpec& param,
                                                   const google::protobuf::Value& value);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_PLUGIN_PARAMS_H_
