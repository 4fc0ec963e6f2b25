#include "collector/fleet/fleet_snapshot.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/fleet/node_class.h"
#include "collector/store/store.h"
#include "common/base/status.h"
#include "common/model/series.h"

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kAlive = absl::Hours(24 * 14);
constexpr size_t kMaxFactChanges = 50'000;
constexpr const char* kDeviceLabels[] = {"device", "gpu"};

}  // namespace

std::string DeviceOf(const v1::SeriesKey& key) {
  for (const char* label : kDeviceLabels) {
    if (const auto it = key.labels().find(label); it != key.labels().end()) return it->second;
  }
  return "";
}

std::string FleetSnapshot::MeasurementKey(const v1::SeriesKey& key) {
  v1::SeriesKey common = key;
  common.clear_node();
  for (const char* label : kDeviceLabels) common.mutable_labels()->erase(label);
  return CanonicalText(common);
}

absl::Status FleetSnapshot::ReadNodes() {
  nodes_.clear();
  explaining_.clear();
  Page page;
  do {
    FM_ASSIGN_OR_RETURN(std::vector<v1::Node> nodes, store_.ListNodes(page, &page.token));
    for (v1::Node& node : nodes) {
      if (fill_live_) fill_live_(&node);
      const std::string name = node.identity().name();
      explaining_[name].attributes = NodeAttributes(node);
      NodeOfFleet& entry = nodes_[name];
      entry.rack = NodeRack(node);
      entry.node_class = NodeClass(node);
      node.clear_facts();  // they are in the attributes
      node.clear_plugins();
      entry.node = std::move(node);
    }
  } while (!page.token.empty());
  return absl::OkStatus();
}

absl::Status FleetSnapshot::ReadSeries(absl::Time now) {
  measurements_.clear();
  measured_on_.clear();
  series_ = 0;
  std::map<std::string, std::set<std::string>> nodes;
  Page page;
  do {
    FM_ASSIGN_OR_RETURN(const std::vector<v1::Series> list, store_.ListSeries({}, page, &page.token));
    for (const v1::Series& series : list) {
      if (absl::FromUnixNanos(series.last_unix_ns()) < now - kAlive) continue;
      ++series_;
      const v1::SeriesKey& key = series.key();
      Measurement& measurement = measurements_[MeasurementKey(key)];
      if (measurement.series.empty()) {
        measurement.key = key;
        measurement.key.clear_node();
        for (const char* label : kDeviceLabels) measurement.key.mutable_labels()->erase(label);
        measurement.better = series.better();
      }
      measurement.series.push_back({series.series_id(), key.node(), DeviceOf(key)});
      const std::string short_key = absl::StrCat(key.benchmark(), "\n", key.metric());
      measured_on_[short_key].measurement = {
          {"benchmark", key.benchmark()},
          {"plugin",
           absl::StrCat(key.plugin(), key.plugin_version().empty() ? "" : " ", key.plugin_version())},
          {"metric", key.metric()}};
      nodes[short_key].insert(key.node());
    }
  } while (!page.token.empty());
  for (auto& [key, names] : nodes) measured_on_[key].nodes.assign(names.begin(), names.end());
  return absl::OkStatus();
}

absl::Status FleetSnapshot::ReadFactChanges(absl::Time since) {
  for (auto& [name, node] : explaining_) node.changed_at.clear();
  v1::ListEventsRequest filter;
  filter.mutable_range()->set_from_unix_ns(absl::ToUnixNanos(since));
  Page page;
  size_t seen = 0;
  do {
    FM_ASSIGN_OR_RETURN(const std::vector<v1::Event> events, store_.ListEvents(filter, page, &page.token));
    for (const v1::Event& event : events) {
      if (++seen > kMaxFactChanges) return absl::OkStatus();
      if (event.kind() != v1::Event::KIND_FACT_CHANGED) continue;
      const auto node = explaining_.find(event.node());
      if (node == explaining_.end()) continue;
      const std::string name = AttributeName(event.subject());
      const auto value = node->second.attributes.find(name);
      if (value == node->second.attributes.end() || value->second != event.new_value()) continue;
      node->second.changed_at.emplace_back(name, event.time_unix_ns());
    }
  } while (!page.token.empty());
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
