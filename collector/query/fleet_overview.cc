#include "collector/query/fleet_overview.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "collector/detect/robust_statistics.h"
#include "collector/query/store_walk.h"
#include "collector/store/store.h"
#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxNodes = 20'000;
constexpr size_t kMaxFindings = 20'000;
constexpr size_t kMaxEvents = 20'000;
constexpr size_t kMaxSamples = 2'000'000;
constexpr size_t kMaxSeries = 200'000;
constexpr int kMaxProblems = 100;
constexpr int kMaxMembers = 8;
constexpr size_t kMaxChanges = 50;
constexpr int kMaxNamesOfChange = 5;
constexpr size_t kLeastBefore = 3;
constexpr absl::Duration kDay = absl::Hours(24);
constexpr absl::Duration kBefore = absl::Hours(7 * 24);
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

uint32_t Seconds(int64_t unix_ns) {
  return unix_ns <= 0 ? 0 : static_cast<uint32_t>(std::min<int64_t>(unix_ns / 1'000'000'000, UINT32_MAX));
}

// Fills one FleetColumn node by node.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(v1::FleetColumn* column) : column_(*column) {}
  void Set(int node, const std::string& value) {
    while (column_.index_size() < node) column_.add_index(-1);
    const auto [it, is_new] = places_.try_emplace(value, column_.values_size());
    if (is_new) column_.add_values(value);
    column_.add_index(it->second);
  }
  void Finish(int nodes) {
    while (column_.index_size() < nodes) column_.add_index(-1);
  }

 private:
  v1::FleetColumn& column_;
  absl::flat_hash_map<std::string, int32_t> places_;
};

bool IsWorse(const v1::Finding& finding) { return finding.direction() == v1::Finding::DIRECTION_WORSE; }

// What is gone or fails first, then what is about many nodes, then larger changes; of equal ones, the older.
bool IsGraver(const v1::Finding& a, const v1::Finding& b) {
  const auto rank = [](const v1::Finding& finding) {
    const bool fact =
        finding.kind() == v1::Finding::KIND_SILENCE || finding.kind() == v1::Finding::KIND_FAILURE;
    return std::make_tuple(fact ? 0 : 1, -static_cast<int64_t>(finding.member_count()),
                           -std::abs(finding.change()), finding.onset_latest_unix_ns());
  };
  return rank(a) < rank(b);
}

class FleetReader {
 public:
  FleetReader(const Store& store, const FillLive& fill_live, absl::Time now,
              const v1::GetFleetRequest& request)
      : store_(store), fill_live_(fill_live), now_(now), request_(request) {}

  absl::StatusOr<v1::FleetResponse> Read() {
    out_.set_time_unix_ns(absl::ToUnixNanos(now_));
    FM_RETURN_IF_ERROR(AddNodes());
    FM_RETURN_IF_ERROR(AddOpenFindings());
    FM_RETURN_IF_ERROR(CountToday());
    FM_RETURN_IF_ERROR(AddMetric());
    FM_RETURN_IF_ERROR(AddChanges());
    return std::move(out_);
  }

 private:
  absl::Status AddNodes() {
    std::map<std::string, ColumnBuilder> columns;
    ColumnBuilder fact(out_.mutable_fact());
    out_.mutable_fact()->set_name(request_.fact());
    FM_RETURN_IF_ERROR(WalkNodes(store_, kMaxNodes, out_, [&](v1::Node node) {
      if (!IsChosen(node)) return;
      if (fill_live_) fill_live_(&node);
      const int index = out_.names_size();
      AddNode(node, index);
      for (const auto& [name, value] : node.identity().labels()) {
        auto it = columns.find(name);
        if (it == columns.end()) {
          v1::FleetColumn* column = out_.add_labels();
          column->set_name(name);
          it = columns.emplace(name, ColumnBuilder(column)).first;
        }
        it->second.Set(index, value);
      }
      for (const v1::Fact& f : node.facts()) {
        if (!request_.fact().empty() && f.name() == request_.fact()) fact.Set(index, f.value());
      }
    }));
    for (auto& [name, column] : columns) column.Finish(out_.names_size());
    if (!request_.fact().empty()) fact.Finish(out_.names_size());
    return absl::OkStatus();
  }

  bool IsChosen(const v1::Node& node) const {
    const v1::Selector& want = request_.selector();
    return (want.node().empty() || want.node() == node.identity().name()) &&
           HasLabels(node.identity().labels(), want.node_labels());
  }

  void AddNode(const v1::Node& node, int index) {
    places_[node.identity().name()] = index;
    out_.add_names(node.identity().name());
    const v1::FleetNodeState state = StateOf(node);
    out_.add_state(state);
    out_.add_last_seen(Seconds(node.last_seen_unix_ns()));
    out_.add_last_run(Seconds(node.last_run_unix_ns()));
    out_.add_worse(0);
    out_.add_other(0);
    out_.add_worst_change(0);
    out_.add_worst_since(0);
    v1::FleetCounts& counts = *out_.mutable_counts();
    counts.set_expected(counts.expected() + 1);
    const bool silent = state == v1::FLEET_NODE_STATE_SILENT;
    counts.set_silent(counts.silent() + (silent ? 1 : 0));
    counts.set_reporting(counts.reporting() + (silent ? 0 : 1));
    counts.set_busy(counts.busy() + (state == v1::FLEET_NODE_STATE_BUSY ? 1 : 0));
    counts.set_running(counts.running() + (state == v1::FLEET_NODE_STATE_RUNNING ? 1 : 0));
    if (state != v1::FLEET_NODE_STATE_RUNNING && state != v1::FLEET_NODE_STATE_BUSY) return;
    v1::FleetActivity& activity = *out_.add_activities();
    activity.set_node(static_cast<uint32_t>(index));
    activity.set_text(
        state == v1::FLEET_NODE_STATE_BUSY
            ? absl::StrCat(node.heartbeat().next_benchmark(), " waits: ", node.heartbeat().waits_for())
            : absl::StrCat("runs ", node.heartbeat().running_benchmark()));
  }

  static v1::FleetNodeState StateOf(const v1::Node& node) {
    if (node.state() != v1::NODE_STATE_CONNECTED) return v1::FLEET_NODE_STATE_SILENT;
    if (!node.heartbeat().running_benchmark().empty()) return v1::FLEET_NODE_STATE_RUNNING;
    return node.heartbeat().waits_for().empty() ? v1::FLEET_NODE_STATE_IDLE : v1::FLEET_NODE_STATE_BUSY;
  }

  // Counts a finding on the nodes that it is about: its own, or its members'.
  absl::Status AddOpenFindings() {
    std::vector<v1::Finding> problems;
    v1::ListFindingsRequest filter;
    filter.set_state(v1::Finding::STATE_OPEN);
    FM_RETURN_IF_ERROR(WalkFindings(store_, filter, kMaxFindings, out_, [&](v1::Finding finding) {
      const std::map<int, double> nodes = NodesOf(finding);
      if (nodes.empty() && !finding.series().node().empty()) return;  // of a node that is not chosen
      for (const auto& [node, change] : nodes) CountOn(node, change, finding);
      if (!finding.group_id().empty()) return;  // told by the finding that it is a member of
      v1::FleetCounts& counts = *out_.mutable_counts();
      if (!IsWorse(finding)) {
        counts.set_findings_other(counts.findings_other() + 1);
        return;
      }
      counts.set_findings_worse(counts.findings_worse() + 1);
      problems.push_back(std::move(finding));
    }));
    const auto& worse = out_.worse();
    out_.mutable_counts()->set_worse(
        static_cast<uint32_t>(std::count_if(worse.begin(), worse.end(), [](uint32_t n) { return n > 0; })));
    std::sort(problems.begin(), problems.end(), IsGraver);
    for (v1::Finding& finding : problems) {
      if (out_.problems_size() == kMaxProblems) break;
      auto* members = finding.mutable_members();
      if (members->size() > kMaxMembers) members->DeleteSubrange(kMaxMembers, members->size() - kMaxMembers);
      *out_.add_problems() = std::move(finding);
    }
    return absl::OkStatus();
  }

  // Place of each chosen node that the finding is about -> its change, of several the largest. Members that
  // are findings themselves are not looked at: they come on their own, and without the bound of members.
  std::map<int, double> NodesOf(const v1::Finding& finding) const {
    std::map<int, double> nodes;
    const auto add = [&](const std::string& node, double change) {
      const auto place = places_.find(node);
      if (place == places_.end()) return;
      double& known = nodes.try_emplace(place->second, change).first->second;
      if (std::abs(change) > std::abs(known)) known = change;
    };
    add(finding.series().node(), finding.change());
    for (const v1::FindingMember& member : finding.members()) {
      if (member.finding_id().empty()) add(member.node(), member.change());
    }
    return nodes;
  }

  void CountOn(int node, double change, const v1::Finding& finding) {
    if (!IsWorse(finding)) return out_.set_other(node, out_.other(node) + 1);
    const bool first = out_.worse(node) == 0;
    out_.set_worse(node, out_.worse(node) + 1);
    if (!first && std::abs(change) <= std::abs(out_.worst_change(node))) return;
    out_.set_worst_change(node, static_cast<float>(change));
    out_.set_worst_since(node, Seconds(finding.onset_latest_unix_ns()));
  }

  // A finding that was closed today may have been found long ago, so only the newest are looked at.
  absl::Status CountToday() {
    const int64_t since = absl::ToUnixNanos(now_ - kDay);
    v1::FleetCounts& counts = *out_.mutable_counts();
    v1::ListFindingsRequest filter;
    filter.set_top_level(true);
    return WalkFindings(store_, filter, kMaxFindings, out_, [&](const v1::Finding& finding) {
      if (NodesOf(finding).empty() && !finding.series().node().empty()) return;
      if (finding.found_unix_ns() >= since) counts.set_opened_today(counts.opened_today() + 1);
      if (finding.closed_unix_ns() >= since) counts.set_closed_today(counts.closed_today() + 1);
    });
  }

  // Of each node, the series whose newest value is furthest to the worse of its own past.
  absl::Status AddMetric() {
    const v1::Selector& want = request_.selector();
    if (want.benchmark().empty() || want.metric().empty()) return absl::OkStatus();
    std::vector<uint64_t> ids;
    absl::flat_hash_map<uint64_t, int> node_of;
    v1::FleetMetric& metric = *out_.mutable_metric();
    metric.mutable_value()->Resize(out_.names_size(), kNone);
    metric.mutable_before()->Resize(out_.names_size(), kNone);
    metric.mutable_time()->Resize(out_.names_size(), 0);
    FM_RETURN_IF_ERROR(WalkSeries(store_, want, kMaxSeries, out_, [&](const v1::Series& series) {
      const auto place = places_.find(series.key().node());
      if (place == places_.end()) return;
      if (metric.series() == 0) {
        metric.set_unit(series.key().unit());
        metric.set_better(series.better());
      }
      // Another unit is another metric of the same name.
      if (series.key().unit() != metric.unit()) return;
      metric.set_series(metric.series() + 1);
      ids.push_back(series.series_id());
      node_of[series.series_id()] = place->second;
    }));
    size_t samples = 0;
    const int64_t from = absl::ToUnixNanos(now_ - kBefore);
    FM_RETURN_IF_ERROR(
        store_.ScanValues(ids, from, INT64_MAX,
                          [&](uint64_t id, absl::Span<const int64_t> times, absl::Span<const double> values) {
                            if (!values.empty()) Offer(node_of[id], times.back(), values);
                            samples += values.size();
                            return samples < kMaxSamples;
                          }));
    if (samples >= kMaxSamples) out_.set_truncated(true);
    // Silent series: their last value, without a past.
    for (const LatestSample& latest : store_.Latest(ids)) {
      const int node = node_of[latest.series_id];
      if (latest.time_unix_ns < from && std::isnan(metric.value(node))) {
        metric.set_value(node, latest.value);
        metric.set_time(node, Seconds(latest.time_unix_ns));
      }
    }
    return absl::OkStatus();
  }

  void Offer(int node, int64_t time, absl::Span<const double> values) {
    v1::FleetMetric& metric = *out_.mutable_metric();
    const absl::Span<const double> past = values.first(values.size() - 1);
    const double before = past.size() < kLeastBefore ? kNone : Median(past);
    const auto harm = [&metric](double value, double base) {
      if (std::isnan(base)) return -std::numeric_limits<double>::infinity();
      return metric.better() == v1::BETTER_LOWER ? value - base : base - value;
    };
    if (!std::isnan(metric.value(node)) &&
        harm(values.back(), before) <= harm(metric.value(node), metric.before(node))) {
      return;
    }
    metric.set_value(node, values.back());
    metric.set_before(node, before);
    metric.set_time(node, Seconds(time));
  }

  absl::Status AddChanges() {
    using Key = std::tuple<int, std::string, std::string, std::string, std::string>;
    std::map<Key, v1::FleetChange> groups;
    v1::ListEventsRequest filter;
    filter.mutable_range()->set_from_unix_ns(absl::ToUnixNanos(now_ - kDay));
    filter.mutable_range()->set_to_unix_ns(absl::ToUnixNanos(now_) + 1);
    FM_RETURN_IF_ERROR(WalkEvents(store_, filter, kMaxEvents, out_, [&](const v1::Event& event) {
      if (!event.node().empty() && !places_.contains(event.node())) return;
      // What an agent says of its start or a boot differs from node to node.
      const bool by_value = event.kind() == v1::Event::KIND_FACT_CHANGED;
      const bool by_text = event.kind() == v1::Event::KIND_NOTE || event.kind() == v1::Event::KIND_IMPORT ||
                           event.kind() == v1::Event::KIND_MAINTENANCE ||
                           event.kind() == v1::Event::KIND_DEPLOYMENT;
      const Key key{event.kind(), by_value ? event.subject() : "", by_value ? event.old_value() : "",
                    by_value ? event.new_value() : "", by_text ? event.message() : ""};
      v1::FleetChange& change = groups[key];
      if (change.events() == 0) {  // newest first
        change.set_last_unix_ns(event.time_unix_ns());
        change.set_kind(event.kind());
        change.set_subject(std::get<1>(key));
        change.set_old_value(std::get<2>(key));
        change.set_new_value(std::get<3>(key));
        change.set_message(event.message());
      }
      change.set_first_unix_ns(event.time_unix_ns());
      change.set_events(change.events() + 1);
      const auto& nodes = change.nodes();
      if (!event.node().empty() && change.nodes_size() < kMaxNamesOfChange &&
          std::find(nodes.begin(), nodes.end(), event.node()) == nodes.end()) {
        change.add_nodes(event.node());
      }
    }));
    std::vector<v1::FleetChange> sorted;
    for (auto& [key, change] : groups) sorted.push_back(std::move(change));
    std::sort(sorted.begin(), sorted.end(), [](const v1::FleetChange& a, const v1::FleetChange& b) {
      return a.last_unix_ns() > b.last_unix_ns();
    });
    if (sorted.size() > kMaxChanges) sorted.resize(kMaxChanges);
    for (v1::FleetChange& change : sorted) *out_.add_changes() = std::move(change);
    return absl::OkStatus();
  }

  const Store& store_;
  const FillLive& fill_live_;
  const absl::Time now_;
  const v1::GetFleetRequest& request_;
  v1::FleetResponse out_;
  absl::flat_hash_map<std::string, int> places_;
};

}  // namespace

absl::StatusOr<v1::FleetResponse> ReadFleet(const Store& store, const FillLive& fill_live, absl::Time now,
                                            const v1::GetFleetRequest& request) {
  return FleetReader(store, fill_live, now, request).Read();
}

}  // namespace fleetmark::collector
