#include "common/detect/series_analysis.h"

#include <algorithm>
#include <cmath>

#include "common/detect/level_model.h"
#include "common/detect/noise.h"
#include "common/detect/onset.h"
#include "common/detect/significance.h"
#include "common/detect/spread_change.h"

namespace fleetmark::detect {
namespace {

constexpr size_t kFewest = 11;           // samples, 8 of a first level and 3 of another
constexpr double kMostP = 0.05;          // whatever the budget
constexpr double kRelativeFloor = 1e-4;  // noise that is always allowed for, as a fraction of the level
constexpr double kRangeFloor = 1e-6;     // the same, as a fraction of the series' range
constexpr double kReturned = 0.25;       // of a change: how near the old level counts as back
constexpr double kJumpScore = 2.5;       // a smaller jump between two lines is a bend
constexpr size_t kWindow = 2000;         // samples that are looked at together
constexpr size_t kNear = 5;              // a spread that changes so near a level is the level's doing

class Analysis {
 public:
  Analysis(absl::Span<const double> values, const AnalysisOptions& options)
      : values_(values),
        clipped_(ClipOutliers(values)),
        limit_(std::min(kMostP, options.false_findings_per_1000 * static_cast<double>(values.size()) / 1000)),
        model_(clipped_, values_, ModelOptions()) {}

  std::vector<SeriesFinding> Run() {
    for (size_t k = 0; k + 1 < model_.segments(); ++k) AddCut(k);
    for (size_t k = 0; k < model_.segments(); ++k) AddDrift(k);
    AddSpreads();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const SeriesFinding& a, const SeriesFinding& b) { return a.index < b.index; });
    return std::move(found_);
  }

 private:
  LevelModel::Options ModelOptions() const {
    LevelModel::Options options;
    options.p_limit = limit_;
    const auto [low, high] = std::minmax_element(values_.begin(), values_.end());
    options.floor = std::max(kRelativeFloor * std::fabs(MedianOf(values_)), kRangeFloor * (*high - *low));
    return options;
  }

  double Probability(double score) const { return SearchProbability(score, values_.size()); }

  double SegmentMedian(size_t k) const {
    return MedianOf(values_.subspan(model_.First(k), model_.End(k) - model_.First(k)));
  }

  // The standard error of a line's value at its end is twice that of its mean.
  double LevelError(size_t k) const {
    const double variance = model_.noise().VarianceOfMean(model_.End(k) - model_.First(k));
    return std::sqrt(variance) * (model_.Fit(k).slope != 0 ? 2 : 1);
  }

  // Two lines that meet, of which the second one climbs or falls, are the beginning of a drift, not a step.
  bool IsBend(size_t k) const {
    if (model_.Fit(k + 1).slope == 0 || model_.End(k + 1) - model_.End(k) < kShortestSlope) return false;
    const double jump = model_.ValueAt(k + 1, model_.End(k)) - model_.ValueAt(k, model_.End(k));
    return std::fabs(jump) < kJumpScore * std::hypot(LevelError(k), LevelError(k + 1)) &&
           Probability(model_.SlopeScore(k + 1)) <= limit_;
  }

  // A later level is where this change began.
  bool Lasts(size_t k, const SeriesFinding& change) const {
    const double near = kReturned * std::fabs(change.after - change.before);
    for (size_t later = k + 2; later < model_.segments(); ++later) {
      if (std::fabs(SegmentMedian(later) - change.before) <= near) return false;
    }
    return true;
  }

  void AddCut(size_t k) {
    if (IsBend(k)) return;
    SeriesFinding change;
    change.kind = Kind::kChange;
    change.index = model_.End(k);
    const OnsetInterval onset = OnsetOf(model_, k, 1);
    change.onset_low = onset.low;
    change.onset_high = onset.high;
    const bool flat = model_.Fit(k).slope == 0 && model_.Fit(k + 1).slope == 0;
    change.before = flat ? SegmentMedian(k) : model_.ValueAt(k, change.index - 1);
    change.after = flat ? SegmentMedian(k + 1) : model_.ValueAt(k + 1, change.index);
    const double error = 1.96 * std::hypot(LevelError(k), LevelError(k + 1));
    change.change_low = change.after - change.before - error;
    change.change_high = change.after - change.before + error;
    change.score = model_.CutScore(k);
    change.p_value = Probability(change.score);
    change.lasting = Lasts(k, change);
    found_.push_back(change);
  }

  void AddDrift(size_t k) {
    const size_t length = model_.End(k) - model_.First(k);
    const double score = model_.SlopeScore(k);
    if (length < kShortestSlope || Probability(score) > limit_) return;
    SeriesFinding drift;
    drift.kind = Kind::kDrift;
    drift.index = model_.First(k);
    drift.onset_low = drift.onset_high = drift.index;
    if (k > 0) {
      const OnsetInterval onset = OnsetOf(model_, k - 1, 1);
      drift.onset_low = onset.low;
      drift.onset_high = onset.high;
    }
    drift.before = model_.ValueAt(k, model_.First(k));
    drift.after = model_.ValueAt(k, model_.End(k) - 1);
    const double error = std::fabs(drift.after - drift.before) * 1.96 / score;
    drift.change_low = drift.after - drift.before - error;
    drift.change_high = drift.after - drift.before + error;
    drift.score = score;
    drift.p_value = Probability(score);
    drift.lasting = k + 1 == model_.segments();
    found_.push_back(drift);
  }

  void AddSpreads() {
    for (const SpreadChange& spread : FindSpreadChanges(model_.Residuals(), limit_)) {
      const auto near = [&](size_t cut) {
        return cut <= spread.index + kNear && spread.index <= cut + kNear;
      };
      if (std::any_of(model_.cuts().begin(), model_.cuts().end(), near)) continue;
      SeriesFinding finding;
      finding.kind = Kind::kSpread;
      finding.index = spread.index;
      finding.onset_low = spread.onset_low;
      finding.onset_high = spread.onset_high;
      finding.before = spread.before;
      finding.after = spread.after;
      finding.change_low = finding.change_high = spread.after - spread.before;
      finding.score = spread.score;
      finding.p_value = spread.p_value;
      found_.push_back(finding);
    }
  }

  const absl::Span<const double> values_;
  const std::vector<double> clipped_;
  const double limit_;
  const LevelModel model_;
  std::vector<SeriesFinding> found_;
};

}  // namespace

std::vector<SeriesFinding> AnalyseSeries(absl::Span<const double> values, const AnalysisOptions& options) {
  std::vector<SeriesFinding> all;
  size_t first = 0, said = 0;  // findings before `said` were stated by an earlier window
  while (values.size() - first >= kFewest) {
    const size_t length = std::min(kWindow, values.size() - first);
    const bool last = first + length == values.size();
    const size_t end = last ? values.size() : first + length - kWindow / 4;
    size_t next = first + kWindow / 2;
    for (SeriesFinding finding : Analysis(values.subspan(first, length), options).Run()) {
      finding.index += first;
      finding.onset_low += first;
      finding.onset_high += first;
      if (finding.index >= end || (first > 0 && finding.index < said)) continue;
      if (finding.kind == Kind::kChange) next = std::max(next, finding.index);
      if (first > 0 && finding.kind == Kind::kDrift && finding.index == first) continue;  // known already
      all.push_back(finding);
    }
    if (last) break;
    said = end;
    first = next;
  }
  return all;
}

}  // namespace fleetmark::detect
