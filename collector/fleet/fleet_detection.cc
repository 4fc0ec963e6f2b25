#include "collector/fleet/fleet_detection.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "collector/fleet/change_decisions.h"
#include "collector/fleet/change_groups.h"
#include "collector/fleet/false_alarm_budget.h"
#include "collector/fleet/fleet_snapshot.h"
#include "collector/fleet/node_findings.h"
#include "collector/fleet/peer_findings.h"
#include "collector/fleet/run_history.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/periodic_thread.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kStateVersion = 1;
constexpr absl::Duration kFactChanges = absl::Hours(24 * 31);
constexpr absl::Duration kLevelAge = absl::Hours(24 * 14);

}  // namespace

class FleetDetection::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        store_(*options_.store),
        budget_(options_.false_alarms_per_week),
        fleet_(store_, options_.fill_live),
        runs_(store_, options_.clock->Now()),
        decisions_(DecisionOptions(options_)),
        passes_(
            options_.metrics->AddCounter("fleetmark_fleet_detect_passes_total", "Passes over the fleet.")),
        errors_(options_.metrics->AddCounter("fleetmark_fleet_detect_errors_total",
                                             "Passes over the fleet that failed and are tried again.")),
        opened_(options_.metrics->AddCounter("fleetmark_fleet_detect_findings_opened_total",
                                             "Findings about several nodes or series that were opened.")),
        closed_(options_.metrics->AddCounter("fleetmark_fleet_detect_findings_closed_total",
                                             "Findings about several nodes or series that were closed.")),
        requests_(options_.metrics->AddCounter("fleetmark_fleet_detect_confirm_requests_total",
                                               "Runs that were asked for to confirm findings.")),
        seconds_(options_.metrics->AddHistogram("fleetmark_fleet_detect_pass_seconds",
                                                "Time of a pass over the fleet.",
                                                {0.01, 0.1, 1, 10, 60, 600})),
        thread_(*options_.clock, options_.interval, [this] { PassAndLog(); }) {}

  void Start() { thread_.Start(PeriodicThread::First::kAfterInterval); }
  void Stop() { thread_.Stop(); }

  absl::Status RunPass() {
    const MonoTime start = options_.clock->Mono();
    const absl::Status status = Pass();
    seconds_.Observe(absl::ToDoubleSeconds(options_.clock->Mono() - start));
    passes_.Add();
    if (!status.ok()) {
      errors_.Add();
      joined_ = absl::InfinitePast();  // what was joined is not stored
    }
    return status;
  }

 private:
  static ChangeDecisions::Options DecisionOptions(const Options& options) {
    ChangeDecisions::Options out;
    out.store = options.store;
    out.run_now = options.run_now;
    return out;
  }

  void PassAndLog() {
    if (const absl::Status status = RunPass(); !status.ok()) {
      LogError("can't look at the fleet as a whole; tried again", {{"error", status}});
    }
  }

  absl::Status Pass() {
    const absl::Time now = options_.clock->Now();
    const int64_t now_ns = absl::ToUnixNanos(now);
    FM_ASSIGN_OR_RETURN(FleetState state, LoadState());
    FM_RETURN_IF_ERROR(fleet_.ReadNodes());
    FM_RETURN_IF_ERROR(ReadSeriesIfDue(now));
    FM_ASSIGN_OR_RETURN(std::vector<v1::Finding> open, store_.OpenFindings(options_.max_open_findings));

    Store::FleetEvaluation evaluation;
    FM_RETURN_IF_ERROR(DecideAndJoin(now, open, state, evaluation));
    FM_RETURN_IF_ERROR(runs_.Update(fleet_, open, budget_, now, state.mutable_benchmarks()));
    Append(SilenceFindings(runs_.SilentNow(fleet_, now), fleet_, open, now_ns), evaluation.findings);
    Append(FailureFindings(runs_.FailingNow(), fleet_, open, now_ns), evaluation.findings);
    FM_RETURN_IF_ERROR(ComparePeersIfDue(now, open, state, evaluation));
    if (thread_.stopping()) return absl::OkStatus();

    state.set_version(kStateVersion);
    evaluation.state = state.SerializeAsString();
    FM_RETURN_IF_ERROR(store_.PutFleetEvaluation(evaluation));
    for (const v1::Finding& finding : evaluation.findings) Report(finding, now_ns);
    return absl::OkStatus();
  }

  static void Append(std::vector<v1::Finding> from, std::vector<v1::Finding>& to) {
    for (v1::Finding& finding : from) to.push_back(std::move(finding));
  }

  // A state that can't be read begins anew: it holds only what is spent of budgets.
  absl::StatusOr<FleetState> LoadState() const {
    FM_ASSIGN_OR_RETURN(const std::string bytes, store_.FleetDetectionState());
    FleetState state;
    if (!state.ParseFromString(bytes)) {
      LogWarn("the state of the fleet's detection can't be read; it begins anew", {});
      return FleetState();
    }
    if (state.version() > kStateVersion) {
      return absl::FailedPreconditionError("the state of the fleet's detection is of a newer version");
    }
    return state;
  }

  absl::Status ReadSeriesIfDue(absl::Time now) {
    FM_ASSIGN_OR_RETURN(const StoreCounts counts, store_.Counts());
    const bool due = now - series_read_ >= options_.series_interval || counts.series != series_counted_;
    if (!due) return absl::OkStatus();
    FM_RETURN_IF_ERROR(fleet_.ReadSeries(now));
    series_read_ = now;
    series_counted_ = counts.series;
    return absl::OkStatus();
  }

  static absl::Duration Since(int64_t look_unix_ns, absl::Time now, absl::Duration at_first) {
    return look_unix_ns == 0 ? at_first : now - absl::FromUnixNanos(look_unix_ns);
  }

  // --- changes ----------------------------------------------------------------------------------------

  absl::Status DecideAndJoin(absl::Time now, std::vector<v1::Finding>& open, FleetState& state,
                             Store::FleetEvaluation& evaluation) {
    const double population =
        SmoothedPopulation(static_cast<double>(fleet_.series()), now, *state.mutable_series());
    decisions_.Begin(fleet_, budget_, population, now, &state);
    std::set<const v1::Finding*> noted;
    for (v1::Finding& finding : open) {
      if (finding.kind() == v1::Finding::KIND_REFERENCE && !finding.has_budget()) {
        finding.mutable_budget()->set_within(true);  // what an operator wrote down is no estimate
        noted.insert(&finding);
      }
      if (!IsChange(finding)) continue;
      FM_ASSIGN_OR_RETURN(const bool news, decisions_.Decide(finding));
      if (news) noted.insert(&finding);
    }
    FM_RETURN_IF_ERROR(JoinIfDue(now, open, state, evaluation, noted));
    AskForRuns(open, evaluation, state, noted);
    for (const v1::Finding* finding : noted) evaluation.notes.push_back(*finding);
    return absl::OkStatus();
  }

  absl::Status JoinIfDue(absl::Time now, std::vector<v1::Finding>& open, FleetState& state,
                         Store::FleetEvaluation& evaluation, std::set<const v1::Finding*>& noted) {
    if (!JoinIsDue(now, open)) return absl::OkStatus();
    FM_RETURN_IF_ERROR(fleet_.ReadFactChanges(now - kFactChanges));
    const absl::Duration gap = Since(state.fleet_look_unix_ns(), now, options_.interval);
    state.set_fleet_look_unix_ns(absl::ToUnixNanos(now));
    ChangeGroups joined =
        JoinOpenChanges(open, fleet_, absl::ToUnixNanos(now), budget_.Level(LookKind::kFleet, 1, gap));
    for (v1::Finding& finding : open) {
      const auto group = joined.group_of.find(finding.finding_id());
      if (group == joined.group_of.end()) continue;
      finding.set_group_id(group->second);
      noted.insert(&finding);
    }
    Append(std::move(joined.changed), evaluation.findings);
    return absl::OkStatus();
  }

  void AskForRuns(std::vector<v1::Finding>& open, const Store::FleetEvaluation& evaluation, FleetState& state,
                  std::set<const v1::Finding*>& noted) {
    std::set<std::string> fleet_groups;
    const auto note_group = [&fleet_groups](const v1::Finding& finding) {
      if (finding.kind() == v1::Finding::KIND_FLEET) fleet_groups.insert(finding.finding_id());
    };
    for (const v1::Finding& finding : open) note_group(finding);
    for (const v1::Finding& finding : evaluation.findings) note_group(finding);
    const int before = state.requests_unix_ns_size();
    for (v1::Finding& finding : open) {
      if (!IsChange(finding) || fleet_groups.contains(finding.group_id())) continue;
      if (decisions_.AskForRuns(finding)) noted.insert(&finding);
    }
    requests_.Add(state.requests_unix_ns_size() - before);
  }

  // When a change opened, closed or was decided about, or became member of a group; else each hour, for facts
  // that changed on other nodes.
  bool JoinIsDue(absl::Time now, const std::vector<v1::Finding>& open) {
    std::string about;
    for (const v1::Finding& finding : open) {
      if (!IsChange(finding) && finding.detector() != kJoinDetector) continue;
      absl::StrAppend(&about, finding.finding_id(), finding.group_id(),
                      finding.budget().within() ? "+" : "-");
    }
    if (about == joined_about_ && now - joined_ < options_.series_interval) return false;
    joined_about_ = std::move(about);
    joined_ = now;
    return true;
  }

  // --- peers ------------------------------------------------------------------------------------------

  absl::Status ComparePeersIfDue(absl::Time now, const std::vector<v1::Finding>& open, FleetState& state,
                                 Store::FleetEvaluation& evaluation) {
    const absl::Duration gap = Since(state.peers_look_unix_ns(), now, options_.peers_interval);
    if (gap < options_.peers_interval) return absl::OkStatus();
    // A series is compared as a device and as part of its node, and a node as part of its rack.
    const double comparisons =
        SmoothedPopulation(3 * static_cast<double>(fleet_.series()), now, *state.mutable_peers());
    PeerFindings peers(fleet_, open, budget_.Level(LookKind::kPeers, comparisons, gap));
    for (const auto& [key, measurement] : fleet_.measurements()) {
      std::map<std::string, PeerGroup> groups;  // by class
      for (const SeriesOfFleet& series : measurement.series) {
        if (thread_.stopping()) return absl::OkStatus();
        const auto node = fleet_.nodes().find(series.node);
        if (node == fleet_.nodes().end()) continue;
        FM_ASSIGN_OR_RETURN(const RecentValues recent, ReadRecent(series, now));
        if (recent.values.size() < kMinLevelSamples) continue;
        PeerGroup& group = groups[node->second.node_class];
        group.measurement = &measurement;
        group.node_class = node->second.node_class;
        group.series.push_back(recent);
      }
      for (const auto& [name, group] : groups) peers.Judge(group);
    }
    Append(peers.Finish(absl::ToUnixNanos(now)), evaluation.findings);
    state.set_peers_look_unix_ns(absl::ToUnixNanos(now));
    return absl::OkStatus();
  }

  absl::StatusOr<RecentValues> ReadRecent(const SeriesOfFleet& series, absl::Time now) const {
    RecentValues recent;
    recent.series = &series;
    FM_ASSIGN_OR_RETURN(const std::vector<v1::Sample> samples,
                        store_.LastSamples(series.series_id, INT64_MAX, kLevelSamples));
    for (const v1::Sample& sample : samples) {
      if (absl::FromUnixNanos(sample.time_unix_ns()) < now - kLevelAge || !std::isfinite(sample.value()))
        continue;
      if (recent.values.empty()) recent.first_unix_ns = sample.time_unix_ns();
      recent.values.push_back(sample.value());
    }
    return recent;
  }

  void Report(const v1::Finding& finding, int64_t now_ns) {
    const bool opened = finding.state() == v1::Finding::STATE_OPEN && finding.found_unix_ns() == now_ns;
    const bool closed = finding.state() == v1::Finding::STATE_CLOSED;
    if (!opened && !closed) return;
    (opened ? opened_ : closed_).Add();
    LogInfo(opened ? "finding about several opened" : "finding about several closed",
            {{"finding", finding.finding_id()},
             {"kind", v1::Finding::Kind_Name(finding.kind())},
             {"scope", finding.scope()},
             {"explanation", finding.explanation()}});
    if (options_.on_finding) options_.on_finding(finding);
  }

  const Options options_;
  Store& store_;
  const FalseAlarmBudget budget_;
  FleetSnapshot fleet_;
  RunHistory runs_;
  ChangeDecisions decisions_;
  absl::Time series_read_ = absl::InfinitePast();
  uint64_t series_counted_ = 0;
  absl::Time joined_ = absl::InfinitePast();
  std::string joined_about_;  // what was open then
  Counter& passes_;
  Counter& errors_;
  Counter& opened_;
  Counter& closed_;
  Counter& requests_;
  Histogram& seconds_;
  PeriodicThread thread_;
};

FleetDetection::FleetDetection(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
FleetDetection::~FleetDetection() = default;
void FleetDetection::Start() { impl_->Start(); }
void FleetDetection::Stop() { impl_->Stop(); }
absl::Status FleetDetection::RunOnce() { return impl_->RunPass(); }

}  // namespace fleetmark::collector
