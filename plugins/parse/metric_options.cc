#include "plugins/parse/metric_options.h"

#include <algorithm>
#include <cmath>

#include "plugins/parse/json_documents.h"

namespace fleetmark::parse {
namespace {

bool IsStringMap(const Json& value) {
  return value.is_object() &&
         std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
}

std::string CheckMetric(const Json& metric, std::string_view source_key,
                        std::initializer_list<std::string_view> maps) {
  if (!metric.is_object()) return Join({"must be a map with name, unit, better and ", source_key});
  for (const std::string_view key : {std::string_view("name"), std::string_view("unit"), source_key}) {
    if (StringIn(metric, key).empty()) return Join({"'", key, "' must be set, to a string"});
  }
  const std::string better = StringIn(metric, "better");
  if (better != "higher" && better != "lower" && better != "none")
    return "'better' must be higher, lower or none";
  for (const auto& item : metric.items()) {
    const std::string_view key = item.key();
    if (key == "name" || key == "unit" || key == "better" || key == source_key) continue;
    if (key == "each" && source_key == "path" && item.value().is_string()) continue;
    if (key == "scale") {
      const bool good =
          item.value().is_number() && std::isfinite(item.value().get<double>()) && item.value() != 0;
      if (!good) return "'scale' must be a number other than 0";
    } else if (key == "labels" || std::find(maps.begin(), maps.end(), key) != maps.end()) {
      if (!IsStringMap(item.value())) return Join({"'", key, "' must be a map of strings"});
    } else {
      return Join({"unknown key '", key, "'"});
    }
  }
  return "";
}

Labels MapIn(const Json& object, std::string_view key) {
  const Json* map = ObjectIn(object, key);
  return map == nullptr ? Labels() : map->get<Labels>();
}

}  // namespace

std::string CheckMetricOptions(const Json& options, std::string_view source_key,
                               std::initializer_list<std::string_view> maps) {
  const Json* list = ArrayIn(options, "metrics");
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::string fault = CheckMetric((*list)[i], source_key, maps);
    if (!fault.empty()) return Join({"'metrics[", std::to_string(i), "]': ", fault});
  }
  return "";
}

std::vector<MetricOption> MetricOptions(const Json& options, std::string_view source_key) {
  std::vector<MetricOption> metrics;
  const Json* list = ArrayIn(options, "metrics");
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const Json& metric = (*list)[i];
    metrics.push_back({.name = StringIn(metric, "name"),
                       .unit = StringIn(metric, "unit"),
                       .better = StringIn(metric, "better"),
                       .source = StringIn(metric, source_key),
                       .scale = NumberIn(metric, "scale").value_or(1),
                       .labels = MapIn(metric, "labels"),
                       .where = MapIn(metric, "where"),
                       .each = StringIn(metric, "each"),
                       .label_paths = MapIn(metric, "label_paths")});
  }
  return metrics;
}

}  // namespace fleetmark::parse
