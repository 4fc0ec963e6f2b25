// A RegexSpec from JSON, as a benchmark's parameters have it:
//
//   {"metrics": [{"name": "triad", "unit": "MB/s", "better": "higher", "pattern": "^Triad: +(\\S+)",
//                 "reduce": "last", "scale": 1, "labels": {"array": "10M"}}],
//    "sanity": ["^Solution Validates"], "sanity_not": ["(?i)error"]}
//
// `reduce` is first, last (the default), all, min, max, mean or median. Keys of the outer object other than
// these three are left to the caller; inside a metric they are errors.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_PLUGINS_PARSE_REGEX_SPEC_H_
#define FLEETMARK_PLUGINS_PARSE_REGEX_SPEC_H_

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

#include "plugins/parse/regex.h"

namespace fleetmark::parse {

// Empty, with the key, what it holds and what would be right in `*error`, when it is wrong.
std::optional<RegexSpec> RegexSpecFromJson(const nlohmann::json& object, std::string* error);

inline constexpr std::string_view kReduceNames = "first, last, all, min, max, mean or median";
std::optional<Reduce> ReduceNamed(std::string_view name);

// A list of strings under `key`, which may be absent. Numbers are taken as their text. Empty on error.
std::optional<std::vector<std::string>> StringList(const nlohmann::json& object, const std::string& key,
                                                   std::string* error);

// A map of strings under `key`, likewise.
std::optional<std::map<std::string, std::string>> StringMap(const nlohmann::json& object,
                                                            const std::string& key, std::string* error);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_REGEX_SPEC_H_
