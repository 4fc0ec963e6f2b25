#include "collector/detect/evaluation.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

#include "collector/detect/change_detector.h"
#include "collector/detect/reference.h"
#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kStateVersion = 1;
constexpr size_t kReturnSamples = 5;      // that must be back at the old level to close a change
constexpr double kReturnFraction = 0.25;  // of the change: how near the old level counts as back
constexpr size_t kScaleSamples = 8;       // a shorter regime does not tell its noise
constexpr double kPooledWeight = 20;

class Evaluator {
 public:
  Evaluator(const EvaluationInput& input, SeriesState& state) : input_(input), state_(state) {
    const auto finite = [](const Point& p) { return std::isfinite(p.value); };
    std::copy_if(input.history.begin(), input.history.end(), std::back_inserter(points_), finite);
  }

  EvaluationResult Run() {
    CloseStaleReference();
    for (const Point& sample : input_.fresh) {
      if (sample.time_unix_ns <= state_.evaluated_until_unix_ns()) continue;
      JudgeReference(sample);
      if (std::isfinite(sample.value)) {
        points_.push_back(sample);
        JudgeChange();
      }
      last_time_ = sample.time_unix_ns;
      state_.set_evaluated_until_unix_ns(sample.time_unix_ns);
      ++result_.judged;
    }
    state_.set_version(kStateVersion);
    return std::move(result_);
  }

 private:
  // --- findings ---------------------------------------------------------------------------------------

  v1::Finding NewFinding(v1::Finding::Kind kind, std::string_view detector, int64_t onset_ns,
                         int64_t sample_ns) const {
    v1::Finding finding;
    finding.set_finding_id(
        UlidFromSeed(absl::FromUnixNanos(sample_ns),
                     absl::StrCat(input_.series->series_id(), "/", v1::Finding::Kind_Name(kind), "/",
                                  std::string(detector), "/", onset_ns)));
    finding.set_series_id(input_.series->series_id());
    *finding.mutable_series() = input_.series->key();
    finding.set_kind(kind);
    finding.set_state(v1::Finding::STATE_OPEN);
    finding.set_found_unix_ns(input_.now_unix_ns);
    finding.set_onset_latest_unix_ns(onset_ns);
    finding.set_detector(std::string(detector));
    return finding;
  }

  void Note(const v1::Finding& finding) {
    for (v1::Finding& known : result_.changed) {
      if (known.finding_id() == finding.finding_id()) {
        known = finding;
        return;
      }
    }
    result_.changed.push_back(finding);
  }

  void Open(v1::Finding finding) {
    Note(finding);
    *state_.add_open() = std::move(finding);
  }

  void Close(int index, std::string_view why) {
    v1::Finding finding = state_.open(index);
    finding.set_state(v1::Finding::STATE_CLOSED);
    finding.set_closed_unix_ns(input_.now_unix_ns);
    absl::StrAppend(finding.mutable_explanation(), "; ", std::string(why));
    Note(finding);
    state_.mutable_open()->DeleteSubrange(index, 1);
  }

  // The position of an open finding of this kind from `from` on; -1 if there is none.
  int NextOpen(v1::Finding::Kind kind, int from) const {
    for (int i = from; i < state_.open_size(); ++i) {
      if (state_.open(i).kind() == kind) return i;
    }
    return -1;
  }

  // --- reference --------------------------------------------------------------------------------------

  void CloseStaleReference() {
    const int open = NextOpen(v1::Finding::KIND_REFERENCE, 0);
    if (open < 0) return;
    const bool same = input_.reference.has_value() && google::protobuf::util::MessageDifferencer::Equals(
                                                          *input_.reference, state_.open(open).reference());
    if (!same) Close(open, "the reference was changed or removed");
  }

  void JudgeReference(const Point& sample) {
    if (!input_.reference.has_value()) return;
    const absl::StatusOr<ReferenceBounds> bounds = BoundsOf(*input_.reference);
    if (!bounds.ok()) return;  // the rules were checked when they were loaded
    const ReferenceResult result = CompareWithBounds(*bounds, sample.value);
    const int open = NextOpen(v1::Finding::KIND_REFERENCE, 0);
    if (result == ReferenceResult::kWithin) {
      if (open >= 0) Close(open, absl::StrFormat("within the bounds again at %.6g", sample.value));
      return;
    }
    if (open < 0) Open(ReferenceFinding(*bounds, result, sample));
  }

  v1::Finding ReferenceFinding(const ReferenceBounds& bounds, ReferenceResult result,
                               const Point& sample) const {
    v1::Finding finding =
        NewFinding(v1::Finding::KIND_REFERENCE, "reference", sample.time_unix_ns, sample.time_unix_ns);
    const double expected = input_.reference->value();
    const v1::Better better = input_.series->better();
    const bool above = result == ReferenceResult::kAbove, below = result == ReferenceResult::kBelow;
    // Of a metric without a better side, too, somebody has said what is right: out of bounds is wrong.
    const bool is_better = (above && better == v1::BETTER_HIGHER) || (below && better == v1::BETTER_LOWER);
    finding.set_direction(is_better ? v1::Finding::DIRECTION_BETTER : v1::Finding::DIRECTION_WORSE);
    const int64_t before_ns = last_time_ != 0   ? last_time_
                              : points_.empty() ? 0
                                                : points_.back().time_unix_ns;
    finding.set_onset_earliest_unix_ns(before_ns);
    finding.set_before(expected);
    finding.set_after(sample.value);
    const double change = expected == 0 ? sample.value : sample.value / expected - 1;
    finding.set_change(change);
    finding.set_change_low(change);
    finding.set_change_high(change);
    finding.set_confidence(1);  // out of bounds is a fact, not an estimate
    finding.set_samples_after(1);
    *finding.mutable_reference() = *input_.reference;
    finding.set_explanation(absl::StrFormat("%.6g is outside the reference %.6g, from %.6g to %.6g",
                                            sample.value, expected, bounds.low, bounds.high));
    return finding;
  }

  // --- change -----------------------------------------------------------------------------------------

  // Judges the newest point.
  void JudgeChange() {
    if (input_.series->better() == v1::BETTER_NONE) return;
    if (CloseReturned()) return;
    const auto begin = std::lower_bound(points_.begin(), points_.end(), state_.regime_start_unix_ns(),
                                        [](const Point& p, int64_t time) { return p.time_unix_ns < time; });
    const auto first = static_cast<size_t>(begin - points_.begin());
    if (first + 1 >= points_.size()) return;
    const absl::Span<const Point> regime = absl::MakeConstSpan(points_).subspan(first);
    const absl::Span<const Point> history = regime.first(regime.size() - 1);
    const double pooled =
        state_.pooled_logarithmic() == EstimateNoise(regime).logarithmic ? state_.pooled_scale() : 0;
    for (const Detector* detector : input_.detectors) {
      const std::optional<Verdict> verdict =
          detector->Judge(history, regime.back(), input_.series->better(), pooled);
      if (!verdict.has_value()) continue;
      const absl::Span<const Point> old_level = regime.first(verdict->onset_low + 1);
      const v1::Finding finding = ChangeFinding(*detector, *verdict, regime);
      PoolNoise(old_level);
      state_.set_regime_start_unix_ns(finding.onset_latest_unix_ns());
      if (!CloseUndone(*verdict)) OpenChange(finding);
      return;
    }
  }

  v1::Finding ChangeFinding(const Detector& detector, const Verdict& verdict,
                            absl::Span<const Point> regime) const {
    v1::Finding finding = NewFinding(verdict.kind, detector.name(), regime[verdict.onset_high].time_unix_ns,
                                     regime.back().time_unix_ns);
    finding.set_direction(verdict.direction);
    finding.set_onset_earliest_unix_ns(regime[verdict.onset_low].time_unix_ns);
    finding.set_before(verdict.before);
    finding.set_after(verdict.after);
    finding.set_change(verdict.change);
    finding.set_change_low(verdict.change_low);
    finding.set_change_high(verdict.change_high);
    finding.set_confidence(1 - verdict.p_value);
    finding.set_p_value(verdict.p_value);
    finding.set_score(verdict.score);
    finding.set_explanation(verdict.explanation);
    finding.set_samples_before(static_cast<uint32_t>(verdict.onset_low + 1));
    finding.set_samples_after(static_cast<uint32_t>(regime.size() - verdict.onset_high));
    if (verdict.reference.has_value()) *finding.mutable_reference() = *verdict.reference;
    return finding;
  }

  void OpenChange(const v1::Finding& finding) {
    int count = 0;
    for (int i = NextOpen(v1::Finding::KIND_CHANGE, 0); i >= 0;
         i = NextOpen(v1::Finding::KIND_CHANGE, i + 1)) {
      ++count;
    }
    if (count >= kMaxOpenChanges) Close(NextOpen(v1::Finding::KIND_CHANGE, 0), "superseded by newer changes");
    Open(finding);
  }

  void CloseChangesFrom(int index, const std::string& why) {
    for (int i = NextOpen(v1::Finding::KIND_CHANGE, index); i >= 0;
         i = NextOpen(v1::Finding::KIND_CHANGE, i)) {
      Close(i, why);
    }
  }

  // The new level undoes the oldest change whose level before it has reached, and all changes after that
  // one. True: that is all there is to say. A level even better than before a worsening closes it too, but
  // is news.
  bool CloseUndone(const Verdict& verdict) {
    const double spread = std::fabs(verdict.after - verdict.before) / 2;
    for (int i = NextOpen(v1::Finding::KIND_CHANGE, 0); i >= 0;
         i = NextOpen(v1::Finding::KIND_CHANGE, i + 1)) {
      const v1::Finding& open = state_.open(i);
      const double size = std::fabs(open.after() - open.before());
      const bool opposite = (open.after() > open.before()) != (verdict.after > verdict.before);
      if (!opposite) continue;
      const std::string why = absl::StrFormat("the level returned to %.6g", verdict.after);
      if (std::fabs(verdict.after - open.before()) <= std::min(kReturnFraction * size, spread)) {
        CloseChangesFrom(i, why);
        return true;
      }
      const bool beyond = (verdict.after > open.before()) == (open.before() > open.after());
      if (beyond && open.direction() == v1::Finding::DIRECTION_WORSE) {
        CloseChangesFrom(i, why);
        return false;
      }
    }
    return false;
  }

  // A change may go away before the new level has a history to judge it by: closes what the newest samples
  // have undone.
  bool CloseReturned() {
    if (points_.size() < kReturnSamples) return false;
    const absl::Span<const Point> newest = absl::MakeConstSpan(points_).last(kReturnSamples);
    if (newest.front().time_unix_ns < state_.regime_start_unix_ns()) return false;
    for (int i = NextOpen(v1::Finding::KIND_CHANGE, 0); i >= 0;
         i = NextOpen(v1::Finding::KIND_CHANGE, i + 1)) {
      const v1::Finding open = state_.open(i);
      const double limit = kReturnFraction * std::fabs(open.after() - open.before());
      const auto nearer_before = [&open](const Point& p) {
        return std::fabs(p.value - open.before()) < std::fabs(p.value - open.after());
      };
      if (std::fabs(MedianOf(newest) - open.before()) > limit) continue;
      if (std::count_if(newest.begin(), newest.end(), nearer_before) + 1 < static_cast<int>(kReturnSamples))
        continue;
      size_t first = points_.size() - kReturnSamples;
      while (first > 0 && points_[first - 1].time_unix_ns > open.onset_latest_unix_ns() &&
             nearer_before(points_[first - 1])) {
        --first;
      }
      state_.set_regime_start_unix_ns(points_[first].time_unix_ns);
      CloseChangesFrom(i, absl::StrFormat("the level returned to %.6g", MedianOf(newest)));
      return true;
    }
    return false;
  }

  static double MedianOf(absl::Span<const Point> points) {
    std::vector<double> values;
    for (const Point& p : points) values.push_back(p.value);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }

  void PoolNoise(absl::Span<const Point> regime) {
    if (regime.size() < kScaleSamples) return;
    const RegimeNoise noise = EstimateNoise(regime);
    const bool comparable = state_.pooled_scale() > 0 && state_.pooled_logarithmic() == noise.logarithmic;
    const double old_weight = comparable ? kPooledWeight : 0;
    const auto weight = static_cast<double>(std::min<size_t>(regime.size(), 100));
    const double variance =
        (old_weight * state_.pooled_scale() * state_.pooled_scale() + weight * noise.scale * noise.scale) /
        (old_weight + weight);
    state_.set_pooled_scale(std::sqrt(variance));
    state_.set_pooled_logarithmic(noise.logarithmic);
  }

  const EvaluationInput& input_;
  SeriesState& state_;
  std::vector<Point> points_;
  int64_t last_time_ = 0;
  EvaluationResult result_;
};

}  // namespace

EvaluationResult Evaluate(const EvaluationInput& input, SeriesState& state) {
  return Evaluator(input, state).Run();
}

std::string SerializeState(const SeriesState& state) { return state.SerializeAsString(); }

absl::StatusOr<SeriesState> ParseState(std::string_view bytes) {
  SeriesState state;
  if (!state.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("the detection state of a series can't be read");
  }
  if (state.version() > kStateVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the detection state of a series has version ",
                                                      state.version(), ", this collector knows ",
                                                      kStateVersion));
  }
  return state;
}

}  // namespace fleetmark::collector
