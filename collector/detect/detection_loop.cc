#include "collector/detect/detection_loop.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "collector/detect/evaluation.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/periodic_thread.h"
#include "common/base/status.h"
#include "common/model/series.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

Point ToPoint(const v1::Sample& sample) { return {sample.time_unix_ns(), sample.value()}; }

}  // namespace

class DetectionLoop::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        store_(*options_.store),
        series_(options_.metrics->AddCounter("fleetmark_detect_series_evaluated_total",
                                             "Evaluations of a series that were stored.")),
        samples_(options_.metrics->AddCounter("fleetmark_detect_samples_judged_total", "Samples judged.")),
        opened_(options_.metrics->AddCounter("fleetmark_detect_findings_opened_total", "Findings opened.")),
        closed_(options_.metrics->AddCounter("fleetmark_detect_findings_closed_total", "Findings closed.")),
        errors_(options_.metrics->AddCounter("fleetmark_detect_errors_total",
                                             "Evaluations that failed; the series is tried again.")),
        resets_(
            options_.metrics->AddCounter("fleetmark_detect_state_resets_total",
                                         "Series whose detection state could not be read and began anew.")),
        seconds_(options_.metrics->AddHistogram("fleetmark_detect_evaluation_seconds",
                                                "Time to evaluate one series, with reading and writing.",
                                                {0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2})),
        thread_(*options_.clock, options_.interval, [this] { RunPass(); }) {
    for (const auto& detector : options_.detectors) detectors_.push_back(detector.get());
  }

  void Start() { thread_.Start(); }
  void Stop() { thread_.Stop(); }
  void Notify() { thread_.Notify(); }

  // Until no series is dirty but those that failed in this pass.
  void RunPass() {
    std::set<uint64_t> failed;
    while (!thread_.stopping()) {
      const absl::StatusOr<std::vector<uint64_t>> dirty = store_.DirtySeries(options_.batch + failed.size());
      if (!dirty.ok()) {
        errors_.Add();
        LogError("can't list the series to judge", {{"error", dirty.status()}});
        return;
      }
      bool progress = false;
      for (const uint64_t id : *dirty) {
        if (failed.contains(id)) continue;
        if (thread_.stopping()) return;
        if (EvaluateAndLog(id)) {
          progress = true;
        } else {
          failed.insert(id);
        }
      }
      if (!progress) return;
    }
  }

  std::vector<std::string> Problems() const {
    MutexLock lock(mu_);
    std::vector<std::string> problems;
    for (const auto& [rule, problem] : problems_) problems.push_back(problem);
    return problems;
  }

 private:
  bool EvaluateAndLog(uint64_t id) {
    const MonoTime start = options_.clock->Mono();
    const absl::Status status = EvaluateSeries(id);
    seconds_.Observe(absl::ToDoubleSeconds(options_.clock->Mono() - start));
    if (status.ok()) {
      series_.Add();
      return true;
    }
    errors_.Add();
    LogError("can't judge a series", {{"series_id", id}, {"error", status}});
    return false;
  }

  absl::Status EvaluateSeries(uint64_t id) {
    // Read before the samples: those that come in meanwhile keep the series dirty.
    FM_ASSIGN_OR_RETURN(const v1::Series series, store_.GetSeries(id));
    FM_ASSIGN_OR_RETURN(SeriesState state, LoadState(id));
    Samples samples;
    FM_RETURN_IF_ERROR(LoadSamples(series, state.evaluated_until_unix_ns(), samples));
    EvaluationInput input;
    input.series = &series;
    input.history = samples.history;
    input.fresh = samples.fresh;
    input.detectors = detectors_;
    FM_ASSIGN_OR_RETURN(input.reference, ReferenceFor(series.key()));
    input.now_unix_ns = absl::ToUnixNanos(options_.clock->Now());
    EvaluationResult result = Evaluate(input, state);
    FM_RETURN_IF_ERROR(AttachEvents(result, state));

    Store::Evaluation evaluation;
    evaluation.series_id = id;
    evaluation.samples_seen = samples.more ? 0 : series.samples();
    evaluation.detector_state = SerializeState(state);
    evaluation.findings = result.changed;
    FM_RETURN_IF_ERROR(store_.PutEvaluation(evaluation));
    Report(result);
    return absl::OkStatus();
  }

  // A state that can't be read begins anew: findings get the same ids again from the same samples.
  absl::StatusOr<SeriesState> LoadState(uint64_t id) {
    FM_ASSIGN_OR_RETURN(const std::string bytes, store_.DetectorState(id));
    absl::StatusOr<SeriesState> state = ParseState(bytes);
    if (!absl::IsDataLoss(state.status())) return state;
    resets_.Add();
    LogWarn("detection of a series begins anew", {{"series_id", id}, {"error", state.status()}});
    return SeriesState();
  }

  struct Samples {
    std::vector<Point> history;
    std::vector<Point> fresh;
    bool more = false;  // than `fresh` holds
  };

  absl::Status LoadSamples(const v1::Series& series, int64_t judged_until_ns, Samples& out) const {
    const int64_t from = judged_until_ns + 1;
    if (judged_until_ns > 0) {
      FM_ASSIGN_OR_RETURN(const std::vector<v1::Sample> last,
                          store_.LastSamples(series.series_id(), from, options_.max_history));
      for (const v1::Sample& sample : last) out.history.push_back(ToPoint(sample));
    }
    return store_.ScanSamples(series.series_id(), judged_until_ns > 0 ? from : 0, INT64_MAX,
                              [&](const v1::Sample& sample) {
                                out.more = out.fresh.size() >= options_.max_fresh;
                                if (!out.more) out.fresh.push_back(ToPoint(sample));
                                return !out.more;
                              });
  }

  absl::StatusOr<std::optional<v1::Reference>> ReferenceFor(const v1::SeriesKey& key) {
    std::optional<v1::Reference> none;
    if (options_.references.size() == 0) return none;
    Labels node_labels;
    if (options_.references.uses_node_labels()) {
      const absl::StatusOr<v1::Node> node = store_.GetNode(key.node());
      if (!node.ok() && !absl::IsNotFound(node.status())) return node.status();
      if (node.ok()) node_labels.insert(node->identity().labels().begin(), node->identity().labels().end());
    }
    const std::optional<ReferenceRules::Match> match = options_.references.Find(key, node_labels);
    if (!match.has_value()) return none;
    if (match->reference.has_value()) return match->reference;
    NoteProblem(match->rule, match->problem);
    return none;
  }

  void NoteProblem(size_t rule, const std::string& problem) {
    {
      MutexLock lock(mu_);
      if (!problems_.emplace(rule, problem).second) return;
    }
    LogError("a reference can't be used", {{"problem", problem}});
  }

  // Puts the events around the onset into findings that opened, in the result and in the state.
  absl::Status AttachEvents(EvaluationResult& result, SeriesState& state) const {
    for (v1::Finding& finding : result.changed) {
      if (finding.state() != v1::Finding::STATE_OPEN) continue;
      const int64_t window = absl::ToInt64Nanoseconds(options_.event_window);
      const int64_t latest = finding.onset_latest_unix_ns();
      const int64_t earliest =
          finding.onset_earliest_unix_ns() != 0 ? finding.onset_earliest_unix_ns() : latest;
      v1::TimeRange range;
      range.set_from_unix_ns(std::max<int64_t>(1, earliest - window));
      range.set_to_unix_ns(latest + window);
      FM_RETURN_IF_ERROR(AddEvents(finding.series().node(), range, finding));
      FM_RETURN_IF_ERROR(AddEvents("", range, finding));
      for (v1::Finding& open : *state.mutable_open()) {
        if (open.finding_id() == finding.finding_id()) open = finding;
      }
    }
    return absl::OkStatus();
  }

  // The newest events that name exactly this node; those of no node are looked for among a bounded number
  // of the fleet's.
  absl::Status AddEvents(const std::string& node, const v1::TimeRange& range, v1::Finding& finding) const {
    constexpr uint32_t kFleetEvents = 500;
    v1::ListEventsRequest filter;
    filter.set_node(node);
    *filter.mutable_range() = range;
    Page page;
    page.limit = node.empty() ? kFleetEvents : static_cast<uint32_t>(options_.max_events);
    std::string next;
    FM_ASSIGN_OR_RETURN(const std::vector<v1::Event> events, store_.ListEvents(filter, page, &next));
    size_t added = 0;
    for (const v1::Event& event : events) {
      if (event.node() != node || added >= options_.max_events) continue;
      *finding.add_events() = event;
      ++added;
    }
    return absl::OkStatus();
  }

  void Report(const EvaluationResult& result) {
    samples_.Add(static_cast<double>(result.judged));
    for (const v1::Finding& finding : result.changed) {
      const bool open = finding.state() == v1::Finding::STATE_OPEN;
      (open ? opened_ : closed_).Add();
      LogInfo(open ? "finding opened" : "finding closed",
              {{"finding", finding.finding_id()},
               {"series", DisplayName(finding.series())},
               {"direction", v1::Finding::Direction_Name(finding.direction())},
               {"explanation", finding.explanation()}});
      if (options_.on_finding) options_.on_finding(finding);
    }
  }

  const Options options_;
  Store& store_;
  std::vector<const Detector*> detectors_;
  Counter& series_;
  Counter& samples_;
  Counter& opened_;
  Counter& closed_;
  Counter& errors_;
  Counter& resets_;
  Histogram& seconds_;

  mutable Mutex mu_;
  std::map<size_t, std::string> problems_ ABSL_GUARDED_BY(mu_);  // by rule
  PeriodicThread thread_;
};

DetectionLoop::DetectionLoop(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
DetectionLoop::~DetectionLoop() = default;
void DetectionLoop::Start() { impl_->Start(); }
void DetectionLoop::Stop() { impl_->Stop(); }
void DetectionLoop::Notify() { impl_->Notify(); }
void DetectionLoop::RunOnce() { impl_->RunPass(); }
std::vector<std::string> DetectionLoop::Problems() const { return impl_->Problems(); }

}  // namespace fleetmark::collector
