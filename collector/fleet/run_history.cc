#include "collector/fleet/run_history.h"

#include <algorithm>
#include <utility>

#include "collector/store/store.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kRunsOfNode = 400;  // of all benchmarks together
constexpr size_t kRunsForGap = 20;
constexpr const char* kBadRuns = "bad_runs";  // as node_findings.cc names members

int64_t TimeOf(const v1::Run& run) {
  return run.started_unix_ns() != 0 ? run.started_unix_ns() : run.scheduled_unix_ns();
}

}  // namespace

void RunHistory::Remember(absl::Span<const v1::Finding> open) {
  remembered_ = true;
  for (const v1::Finding& finding : open) {
    if (finding.detector() != kFailureDetector) continue;
    for (const v1::FindingMember& member : finding.members()) {
      Failing failing;
      failing.node = member.node();
      failing.benchmark = member.benchmark();
      failing.verdict.failing = member.metric() == kBadRuns;
      failing.verdict.before = member.before();
      failing.verdict.after = member.after();
      failing.verdict.onset_unix_ns = finding.onset_latest_unix_ns();
      failing.verdict.p_value = finding.p_value();
      failing.verdict.text = finding.explanation();
      failing.level = finding.budget().level();
      failing_[{failing.node, failing.benchmark, failing.verdict.failing}] = failing;
    }
  }
}

absl::Status RunHistory::Update(const FleetSnapshot& fleet, absl::Span<const v1::Finding> open,
                                const FalseAlarmBudget& budget, absl::Time now, PopulationState* population) {
  if (!remembered_) Remember(open);
  size_t planned = 0;
  for (const auto& [name, node] : fleet.nodes()) planned += static_cast<size_t>(node.node.benchmarks_size());
  const double pairs = SmoothedPopulation(static_cast<double>(planned), now, *population);
  for (const auto& [name, node] : fleet.nodes()) {
    NodeRuns& runs = nodes_[name];
    const bool connected = node.node.state() == v1::NODE_STATE_CONNECTED;
    if (!connected) {
      runs.connected_since = absl::InfiniteFuture();
    } else if (runs.connected_since == absl::InfiniteFuture()) {
      runs.connected_since = now;
    }
    if (runs.last_run_unix_ns == node.node.last_run_unix_ns()) continue;
    FM_RETURN_IF_ERROR(ReadNode(name, &runs, budget, pairs));
    runs.last_run_unix_ns = node.node.last_run_unix_ns();
  }
  return absl::OkStatus();
}

absl::Status RunHistory::ReadNode(const std::string& node, NodeRuns* runs, const FalseAlarmBudget& budget,
                                  double pairs) {
  v1::ListRunsRequest filter;
  filter.set_node(node);
  Page page;
  page.limit = kRunsOfNode;
  std::string next;
  FM_ASSIGN_OR_RETURN(std::vector<v1::NodeRun> list, store_.ListRuns(filter, page, &next));
  std::reverse(list.begin(), list.end());  // now ascending
  std::map<std::string, std::vector<RunResult>> by_benchmark;
  for (const v1::NodeRun& run : list) {
    const v1::Run& r = run.run();
    by_benchmark[r.benchmark()].push_back({TimeOf(r), r.outcome(), r.duration_seconds(), r.reason()});
  }
  for (const auto& [benchmark, results] : by_benchmark) {
    LastRuns& last = runs->benchmarks[benchmark];
    last.last = absl::FromUnixNanos(results.back().time_unix_ns);
    last.longest_gap = absl::ZeroDuration();
    for (size_t i = results.size() > kRunsForGap ? results.size() - kRunsForGap : 1; i < results.size();
         ++i) {
      last.longest_gap = std::max(last.longest_gap,
                                  absl::Nanoseconds(results[i].time_unix_ns - results[i - 1].time_unix_ns));
    }
    JudgeBenchmark(node, benchmark, results, budget, pairs);
  }
  return absl::OkStatus();
}

void RunHistory::JudgeBenchmark(const std::string& node, const std::string& benchmark,
                                absl::Span<const RunResult> runs, const FalseAlarmBudget& budget,
                                double pairs) {
  const absl::Duration gap =
      runs.size() < 2 ? absl::ZeroDuration()
                      : absl::Nanoseconds(runs.back().time_unix_ns - runs[runs.size() - 2].time_unix_ns);
  const double level = budget.Level(LookKind::kFailures, 2 * pairs, gap);  // two questions of each
  for (const bool failing : {true, false}) {
    const FailingKey key{node, benchmark, failing};
    if (const auto known = failing_.find(key); known != failing_.end()) {
      const FailureVerdict& verdict = known->second.verdict;
      if (!StillFailing(runs, failing, verdict.before, verdict.after)) failing_.erase(known);
      continue;
    }
    std::optional<FailureVerdict> verdict = failing ? JudgeOutcomes(runs) : JudgeDurations(runs);
    if (verdict.has_value() && verdict->p_value <= level) {
      failing_[key] = {node, benchmark, *std::move(verdict), level};
    }
  }
}

std::vector<Silent> RunHistory::SilentNow(const FleetSnapshot& fleet, absl::Time now) {
  std::vector<Silent> silent;
  for (const auto& [name, node] : fleet.nodes()) {
    NodeRuns& runs = nodes_[name];
    NodeActivity activity;
    activity.node = name;
    activity.connected = node.node.state() == v1::NODE_STATE_CONNECTED;
    // What is stored of a node that is away may be old: its last run is a sign of life too.
    activity.last_seen = std::max(absl::FromUnixNanos(node.node.last_seen_unix_ns()),
                                  absl::FromUnixNanos(node.node.last_run_unix_ns()));
    activity.waits_for = node.node.heartbeat().waits_for();
    std::map<std::string, absl::Time> planned;
    for (const v1::Benchmark& benchmark : node.node.benchmarks()) {
      if (!benchmark.enabled() || benchmark.schedule().empty()) continue;
      const auto since = runs.planned.emplace(benchmark.name(), now).first;
      planned.insert(*since);
      PlannedBenchmark entry;
      entry.name = benchmark.name();
      entry.schedule = benchmark.schedule();
      entry.splay = absl::Seconds(benchmark.splay_seconds());
      const auto last = runs.benchmarks.find(benchmark.name());
      entry.last_run = last == runs.benchmarks.end() ? absl::InfinitePast() : last->second.last;
      entry.longest_gap = last == runs.benchmarks.end() ? absl::ZeroDuration() : last->second.longest_gap;
      entry.known_since = since->second;
      if (activity.connected) entry.known_since = std::max(entry.known_since, runs.connected_since);
      activity.benchmarks.push_back(std::move(entry));
    }
    runs.planned = std::move(planned);  // what is no longer planned is forgotten
    for (Silent& one : JudgeSilence(activity, watching_since_, now)) silent.push_back(std::move(one));
  }
  return silent;
}

std::vector<Failing> RunHistory::FailingNow() const {
  std::vector<Failing> out;
  for (const auto& [key, failing] : failing_) out.push_back(failing);
  return out;
}

}  // namespace fleetmark::collector
