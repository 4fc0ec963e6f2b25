// A JSON document as YAML in block style, for people and for tools that read YAML.
//
// Thread-safety: a function without state.
#ifndef FLEETMARK_COMMON_CONFIG_JSON_TO_YAML_H_
#define FLEETMARK_COMMON_CONFIG_JSON_TO_YAML_H_

#include <string>

#include "absl/status/statusor.h"

namespace fleetmark {

// The members keep their order. What is a string in JSON is quoted, so that none is taken for a number or a
// truth value. InvalidArgument: it isn't JSON.
absl::StatusOr<std::string> JsonToYaml(const std::string& json);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_CONFIG_JSON_TO_YAML_H_
