// How Fleetmark's series are called in Prometheus' terms (docs/prometheus.md): what the query interface
// answers with, and what remote write sends.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_PROMQL_SERIES_NAMING_H_
#define FLEETMARK_COLLECTOR_PROMQL_SERIES_NAMING_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "collector/promql/label_set.h"
#include "collector/promql/series_source.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector::promql {

// fleetmark_<benchmark>_<metric>_<unit>: fleetmark_stream_triad_gigabytes_per_second.
std::string MetricNameOf(const v1::SeriesKey& key);

// The name and all labels. `node_labels` are those that the operator gave the node.
LabelSet LabelsOf(const v1::SeriesKey& key, const std::map<std::string, std::string>& node_labels);

// The label under which the store has this label's values, when it has them just so. None for the metric's
// name, for labels of nodes, and for those that were renamed as another has their name.
std::optional<std::string> StoredLabelOf(std::string_view label);

MetricMetadata MetadataOf(const v1::SeriesKey& key);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_SERIES_NAMING_H_
