// The option `metrics` of the general readers: a list of maps that say what to read and what to call it.
//
// Each has `name`, `unit`, `better`, the key that says where the value is (`column`, `key` or `path`), and
// optionally `scale`, `labels`, and what a reader adds.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_PLUGINS_PARSE_METRIC_OPTIONS_H_
#define FLEETMARK_PLUGINS_PARSE_METRIC_OPTIONS_H_

#include <nlohmann/json_fwd.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/parse/parsed_output.h"

namespace fleetmark::parse {

struct MetricOption {
  std::string name;
  std::string unit;
  std::string better;
  std::string source;  // the column, key or path
  double scale = 1;
  Labels labels;
  Labels where;        // csv: only rows with these cells
  std::string each;    // json: the path of what `source` starts from
  Labels label_paths;  // json: labels by their path
};

// A sentence about the first fault in `options`; empty when there is none. `maps` are keys with maps of
// strings that the reader allows besides `labels`.
std::string CheckMetricOptions(const nlohmann::json& options, std::string_view source_key,
                               std::initializer_list<std::string_view> maps);

// Of options that passed the check.
std::vector<MetricOption> MetricOptions(const nlohmann::json& options, std::string_view source_key);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_METRIC_OPTIONS_H_
