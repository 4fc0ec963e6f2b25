#include "collector/promql/series_naming.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "common/model/unit_words.h"

namespace fleetmark::collector::promql {
namespace {

bool IsReserved(std::string_view name) {
  return name == "node" || name == "benchmark" || name == "plugin" || name == "plugin_version" ||
         name == "params" || name.starts_with("node_") || name.starts_with("__");
}

}  // namespace

std::string MetricNameOf(const v1::SeriesKey& key) {
  return absl::StrCat("fleetmark_", Underscored(key.benchmark()), "_", Underscored(key.metric()), "_",
                      UnitWords(key.unit()));
}

LabelSet LabelsOf(const v1::SeriesKey& key, const std::map<std::string, std::string>& node_labels) {
  std::vector<Label> labels = {{std::string(kMetricName), MetricNameOf(key)},
                               {"node", key.node()},
                               {"benchmark", key.benchmark()},
                               {"plugin", key.plugin()},
                               {"plugin_version", key.plugin_version()},
                               {"params", key.params_digest()}};
  for (const auto& [name, value] : key.labels()) {
    labels.push_back({IsReserved(name) ? absl::StrCat("metric_", name) : name, value});
  }
  for (const auto& [name, value] : node_labels) {
    labels.push_back({absl::StrCat("node_", Underscored(name)), value});
  }
  return LabelSet(std::move(labels));
}

std::optional<std::string> StoredLabelOf(std::string_view label) {
  if (label == "params") return "params_digest";
  if (label == "node" || label == "benchmark" || label == "plugin" || label == "plugin_version") {
    return std::string(label);
  }
  // The store's words for what is in the metric's name here, or a digest; a metric's label may be called so.
  if (label == "metric" || label == "unit" || label == "params_digest") return std::nullopt;
  if (IsReserved(label) || label.starts_with("metric_")) return std::nullopt;
  return std::string(label);
}

MetricMetadata MetadataOf(const v1::SeriesKey& key) {
  return {MetricNameOf(key), key.unit(),
          absl::StrCat("Metric ", key.metric(), " of benchmark ", key.benchmark(), " in ", key.unit(), ".")};
}

}  // namespace fleetmark::collector::promql
