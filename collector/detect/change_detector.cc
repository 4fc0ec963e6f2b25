#include "collector/detect/change_detector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "collector/detect/robust_statistics.h"
#include "common/detect/series_analysis.h"

namespace fleetmark::collector {
namespace {

constexpr std::array<size_t, 6> kLengths = {3, 5, 8, 13, 21, 34};
constexpr size_t kConfirmSamples = 40;      // fewer are left to the tests of this file
constexpr double kConfirmBudget = 0.1;      // the candidate was found by a test of its own
constexpr size_t kDriftSamples = 40;        // fewer do not tell a drift from noise
constexpr double kPooledDegrees = 20;       // how much evidence an earlier regime's scale counts as
constexpr double kSpreadEfficiency = 0.85;  // of RobustSpread, against the standard deviation of normal data

bool AllPositive(absl::Span<const Point> points) {
  return std::all_of(points.begin(), points.end(), [](const Point& p) { return p.value > 0; });
}

std::vector<double> Transform(absl::Span<const Point> points, bool logarithmic) {
  std::vector<double> out;
  out.reserve(points.size());
  for (const Point& p : points) out.push_back(logarithmic ? std::log(p.value) : p.value);
  return out;
}

// What the old level's samples say of the noise.
struct Noise {
  double scale = 0;
  double correlation = 0;
  double degrees = 0;
};

Noise NoiseOf(absl::Span<const double> before, double floor, double pooled_scale) {
  Noise noise;
  const double spread = RobustSpread(before);
  noise.correlation = LagOneCorrelation(before, spread);
  const double r = noise.correlation;
  noise.degrees =
      std::max(6.0, kSpreadEfficiency * static_cast<double>(before.size() - 1) * (1 - r) / (1 + r));
  double variance = spread * spread;
  if (pooled_scale > 0) {
    variance = (noise.degrees * variance + kPooledDegrees * pooled_scale * pooled_scale) /
               (noise.degrees + kPooledDegrees);
    noise.degrees += kPooledDegrees;
  }
  noise.scale = std::max(std::sqrt(variance), floor);
  return noise;
}

// The spread of medians of `length` neighbours around the old level; 0 where too few are apart to tell.
double BlockSpread(absl::Span<const double> before, size_t length, double level) {
  if (before.size() < 3 * length) return 0;
  std::vector<double> deviations;
  for (size_t i = 0; i + length <= before.size(); ++i) {
    deviations.push_back(std::fabs(Median(before.subspan(i, length)) - level));
  }
  return std::max(1.4826 * Median(deviations), Quantile(deviations, 0.95) / 1.96);
}

struct Shift {
  size_t length = 0;
  double level = 0;  // transformed, as is all here
  double difference = 0;
  double scale = 0;  // of a sample
  double error = 0;  // standard error of the difference
  double score = 0;
  double p_value = 1;
};

// How probable it is to see so many of `after` on the new side of the middle.
double OrderProbability(absl::Span<const double> before, absl::Span<const double> after, double level,
                        double difference) {
  const double middle = level + difference / 2;
  const auto beyond = [&](double v) { return difference > 0 ? v > middle : v < middle; };
  const auto old_count = static_cast<double>(std::count_if(before.begin(), before.end(), beyond));
  const auto new_count = static_cast<size_t>(std::count_if(after.begin(), after.end(), beyond));
  const double rate = (old_count + 0.5) / (static_cast<double>(before.size()) + 1);
  return BinomialTail(after.size(), new_count, rate);
}

// How far a slow drift of the old level, which its two halves show, would have moved the newest samples in
// the direction of `difference`.
double DriftAllowance(absl::Span<const double> before, double difference) {
  if (before.size() < kDriftSamples) return 0;
  const double drift = Median(before.last(before.size() / 2)) - Median(before.first(before.size() / 2));
  return std::max(0.0, difference > 0 ? drift : -drift);
}

std::optional<Shift> TestLength(absl::Span<const double> values, size_t length, bool logarithmic,
                                double pooled_scale, const ChangeDetector::Options& options) {
  const size_t count = std::min(options.max_before, values.size() - length);
  const absl::Span<const double> before = values.subspan(values.size() - length - count, count);
  const absl::Span<const double> after = values.subspan(values.size() - length);
  Shift shift;
  shift.length = length;
  shift.level = Median(before);
  shift.difference = Median(after) - shift.level;
  if (shift.difference == 0) return std::nullopt;

  const double order = OrderProbability(before, after, shift.level, shift.difference);
  if (order > options.order_limit) return std::nullopt;

  const double relative = options.min_relative_scale * (logarithmic ? 1 : std::fabs(shift.level));
  const double floor = std::max(relative, Quantum(before) / std::sqrt(12.0));
  const Noise noise = NoiseOf(before, floor, pooled_scale);
  const double after_error =
      std::max(noise.scale * std::sqrt(MedianVariance(length) * VarianceInflation(length, noise.correlation)),
               BlockSpread(before, length, shift.level));
  const double before_error =
      noise.scale * std::sqrt(MedianVariance(count) * VarianceInflation(count, noise.correlation));
  shift.scale = noise.scale;
  shift.error = std::hypot(after_error, before_error);
  if (shift.error <= 0) {  // all values before are 0: any other level is new
    shift.score = options.score_limit;
  } else {
    const double size = std::fabs(shift.difference) - DriftAllowance(before, shift.difference);
    shift.score = NormalFromStudent(std::max(0.0, size) / shift.error, noise.degrees);
  }
  if (shift.score < options.score_limit) return std::nullopt;
  const double lengths = static_cast<double>(kLengths.size());
  shift.p_value = std::min(1.0, lengths * std::max(TwoSidedNormalTail(shift.score), order));
  return shift;
}

// The last sample that is surely of the old level, the first that is surely of the new one, and the best
// guess of the first of the new level.
struct Onset {
  size_t low = 0;
  size_t high = 0;
  size_t best = 0;
};

Onset FindOnset(absl::Span<const double> values, const Shift& shift) {
  const size_t n = values.size();
  const size_t earliest = n - std::min(n - 1, 3 * shift.length + 5);
  const double new_level = shift.level + shift.difference;
  // Cost of the split at s, relative to the split at `earliest`.
  std::vector<double> costs = {0};
  for (size_t s = earliest + 1; s < n; ++s) {
    const double v = values[s - 1];
    costs.push_back(costs.back() + std::fabs(v - shift.level) - std::fabs(v - new_level));
  }
  const auto best = std::min_element(costs.begin(), costs.end());
  // Under Laplace noise a cost higher by 3 scales is 20 times less likely.
  const double limit = *best + 3 * shift.scale / std::sqrt(2.0);
  Onset onset;
  onset.best = earliest + static_cast<size_t>(best - costs.begin());
  size_t first = 0, last = costs.size() - 1;
  while (costs[first] > limit) ++first;
  while (costs[last] > limit) --last;
  onset.low = earliest + first - 1;
  onset.high = earliest + last;
  return onset;
}

// Whether the analysis of the whole window, which tells autocorrelated noise and slopes from steps, sees a
// change in the same direction near where this one began. It needs a history that shows the noise.
bool IsConfirmed(absl::Span<const double> values, const Shift& shift) {
  if (values.size() < kConfirmSamples) return true;
  const size_t reach = std::min(values.size(), 3 * shift.length + 5);
  for (const detect::SeriesFinding& found : detect::AnalyseSeries(values, {kConfirmBudget})) {
    const bool same = (found.after > found.before) == (shift.difference > 0);
    if (found.kind == detect::Kind::kChange && same && found.index + reach >= values.size()) return true;
  }
  return false;
}

v1::Finding::Direction DirectionOf(double difference, v1::Better better) {
  if (better == v1::BETTER_HIGHER) {
    return difference > 0 ? v1::Finding::DIRECTION_BETTER : v1::Finding::DIRECTION_WORSE;
  }
  if (better == v1::BETTER_LOWER) {
    return difference < 0 ? v1::Finding::DIRECTION_BETTER : v1::Finding::DIRECTION_WORSE;
  }
  return v1::Finding::DIRECTION_NEUTRAL;
}

// `difference` of transformed values as a change of the values themselves.
double AsChange(double difference, double before, bool logarithmic) {
  if (logarithmic) return std::expm1(difference);
  return before == 0 ? difference : difference / before;
}

std::string Explain(const Verdict& verdict, const Shift& shift) {
  const std::string size = verdict.before == 0 ? absl::StrFormat("by %+.4g", verdict.change)
                                               : absl::StrFormat("by %+.1f %%", 100 * verdict.change);
  std::string text =
      absl::StrFormat("the level changed from %.6g to %.6g, %s", verdict.before, verdict.after, size);
  if (shift.scale > 0) {
    absl::StrAppendFormat(&text, ", %.1f times the noise", std::fabs(shift.difference) / shift.scale);
  }
  return text;
}

Verdict MakeVerdict(absl::Span<const Point> points, absl::Span<const double> values, const Shift& shift,
                    bool logarithmic, v1::Better better) {
  const Onset onset = FindOnset(values, shift);
  const size_t first = onset.best - std::min(onset.best, size_t{120});
  const std::vector<double> raw = Transform(points, false);
  const absl::Span<const double> before = absl::MakeConstSpan(raw).subspan(first, onset.best - first);
  const absl::Span<const double> after = absl::MakeConstSpan(raw).subspan(onset.best);
  Verdict verdict;
  verdict.kind = v1::Finding::KIND_CHANGE;
  verdict.direction = DirectionOf(shift.difference, better);
  verdict.onset_low = onset.low;
  verdict.onset_high = onset.high;
  verdict.before = Median(before);
  verdict.after = Median(after);
  const double difference =
      logarithmic ? std::log(verdict.after) - std::log(verdict.before) : verdict.after - verdict.before;
  verdict.change = AsChange(difference, verdict.before, logarithmic);
  const double a = AsChange(difference - 1.96 * shift.error, verdict.before, logarithmic);
  const double b = AsChange(difference + 1.96 * shift.error, verdict.before, logarithmic);
  verdict.change_low = std::min(a, b);
  verdict.change_high = std::max(a, b);
  verdict.p_value = shift.p_value;
  verdict.score = shift.score;
  verdict.explanation = Explain(verdict, shift);
  return verdict;
}

}  // namespace

RegimeNoise EstimateNoise(absl::Span<const Point> regime) {
  RegimeNoise noise;
  noise.logarithmic = AllPositive(regime);
  if (regime.size() >= 4) noise.scale = RobustSpread(Transform(regime, noise.logarithmic));
  return noise;
}

std::optional<Verdict> ChangeDetector::Judge(absl::Span<const Point> history, const Point& sample,
                                             v1::Better better, double pooled_scale) const {
  if (better == v1::BETTER_NONE) return std::nullopt;
  const size_t warm_up = pooled_scale > 0 ? options_.warm_up_with_scale : options_.warm_up;
  const size_t kept = std::min(history.size(), options_.max_before + kLengths.back());
  const size_t skipped = history.size() - kept;
  std::vector<Point> points(history.begin() + static_cast<ptrdiff_t>(skipped), history.end());
  points.push_back(sample);
  const bool logarithmic = AllPositive(points);
  const std::vector<double> values = Transform(points, logarithmic);

  std::optional<Shift> best;
  for (const size_t length : kLengths) {
    if (values.size() < length + warm_up) break;
    std::optional<Shift> shift = TestLength(values, length, logarithmic, pooled_scale, options_);
    if (shift.has_value() && (!best.has_value() || shift->p_value < best->p_value)) best = shift;
  }
  if (!best.has_value() || !IsConfirmed(values, *best)) return std::nullopt;
  Verdict verdict = MakeVerdict(points, values, *best, logarithmic, better);
  verdict.onset_low += skipped;
  verdict.onset_high += skipped;
  return verdict;
}

}  // namespace fleetmark::collector
