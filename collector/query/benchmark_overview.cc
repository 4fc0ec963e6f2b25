#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/query/fleet_overview.h"
#include "collector/query/store_walk.h"
#include "collector/store/store.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxNodes = 20'000;
constexpr size_t kMaxBenchmarks = 2000;
constexpr size_t kMaxProblems = 200;
constexpr int kMaxDistinct = 8;

void AddDistinct(const std::string& value, google::protobuf::RepeatedPtrField<std::string>* list) {
  if (value.empty() || list->size() >= kMaxDistinct) return;
  if (std::find(list->begin(), list->end(), value) == list->end()) *list->Add() = value;
}

std::string PluginText(const v1::Node& node, const std::string& name) {
  for (const v1::Plugin& plugin : node.plugins()) {
    if (plugin.name() == name) return absl::StrCat(name, " ", plugin.version());
  }
  return name;
}

struct Found {
  std::map<std::string, v1::BenchmarkSummary> benchmarks;
  std::map<std::pair<std::string, std::string>, v1::PluginProblem> problems;
};

void AddBenchmark(const v1::Node& node, const v1::Benchmark& benchmark, Found* found) {
  if (found->benchmarks.size() >= kMaxBenchmarks && !found->benchmarks.contains(benchmark.name())) return;
  v1::BenchmarkSummary& summary = found->benchmarks[benchmark.name()];
  summary.set_nodes(summary.nodes() + 1);
  if (!benchmark.enabled()) summary.set_nodes_disabled(summary.nodes_disabled() + 1);
  AddDistinct(PluginText(node, benchmark.plugin()), summary.mutable_plugins());
  AddDistinct(benchmark.schedule(), summary.mutable_schedules());
  AddDistinct(benchmark.suite(), summary.mutable_suites());
  AddDistinct(benchmark.params_json(), summary.mutable_params_json());
  auto* nodes = summary.mutable_some_nodes();
  if (node.state() != v1::NODE_STATE_CONNECTED) {
    AddDistinct(node.identity().name(), nodes);
  } else if (nodes->size() < kMaxDistinct) {
    // Before those that are away, so that a run can be asked for.
    *nodes->Add() = node.identity().name();
    std::rotate(nodes->rbegin(), nodes->rbegin() + 1, nodes->rend());
  }
}

void AddNode(const v1::Node& node, Found* found) {
  for (const v1::Benchmark& benchmark : node.benchmarks()) AddBenchmark(node, benchmark, found);
  for (const v1::Plugin& plugin : node.plugins()) {
    if (plugin.problem().empty()) continue;
    const std::pair<std::string, std::string> key{plugin.name(), plugin.problem()};
    if (found->problems.size() >= kMaxProblems && !found->problems.contains(key)) continue;
    v1::PluginProblem& problem = found->problems[key];
    problem.set_plugin(plugin.name());
    problem.set_problem(plugin.problem());
    problem.set_nodes(problem.nodes() + 1);
    problem.set_some_node(node.identity().name());
  }
}

}  // namespace

absl::StatusOr<v1::BenchmarksResponse> ReadBenchmarks(const Store& store, const FillLive& fill_live) {
  Found found;
  v1::FleetResponse cut;
  FM_RETURN_IF_ERROR(WalkNodes(store, kMaxNodes, cut, [&](v1::Node node) {
    if (fill_live) fill_live(&node);
    AddNode(node, &found);
  }));
  // Also those that are configured nowhere any more.
  for (const MetricOfBenchmark& metric : store.Metrics()) {
    if (found.benchmarks.size() >= kMaxBenchmarks && !found.benchmarks.contains(metric.benchmark)) continue;
    v1::BenchmarkMetric& added = *found.benchmarks[metric.benchmark].add_metrics();
    added.set_name(metric.metric);
    added.set_unit(metric.unit);
  }
  v1::BenchmarksResponse response;
  for (auto& [name, summary] : found.benchmarks) {
    summary.set_name(name);
    *response.add_benchmarks() = std::move(summary);
  }
  for (auto& [key, problem] : found.problems) *response.add_problems() = std::move(problem);
  return response;
}

}  // namespace fleetmark::collector
