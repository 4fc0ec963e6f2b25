#include "common/detect/level_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/detect/significance.h"

namespace fleetmark::detect {
namespace {

constexpr std::array<double, 5> kCorrelations = {0, 0.2, 0.4, 0.55, 0.7};
// Penalties, in log n. A cut adds two parameters, its place and a level; choosing the place among many
// makes it dearer than that in the criterion (N. R. Zhang, D. O. Siegmund, "A modified Bayes information
// criterion", 2007). The first search proposes generously, the criterion decides.
constexpr double kSearchCut = 1.5, kSearchSlope = 1.0;
constexpr double kCriterionCut = 2.8, kCriterionSlope = 1.5;
constexpr double kManyValues = 60;  // whose mean is normal enough

}  // namespace

LevelModel::LevelModel(absl::Span<const double> values, absl::Span<const double> raw, Options options)
    : options_(options), costs_(values), values_(values), raw_(raw), tails_({}) {
  Choose();
  Prune();
}

SegmentFit LevelModel::BestFit(size_t first, size_t end) const {
  return options_.slopes ? costs_.Best(first, end, SlopePenalty()) : costs_.Constant(first, end);
}

double LevelModel::ValueAt(size_t segment, size_t index) const {
  const SegmentFit fit = Fit(segment);
  const double middle = static_cast<double>(First(segment) + End(segment) - 1) / 2;
  return fit.level + fit.slope * (static_cast<double>(index) - middle);
}

std::vector<double> LevelModel::Residuals() const {
  std::vector<double> residuals;
  residuals.reserve(values_.size());
  for (size_t k = 0; k < segments(); ++k) {
    const SegmentFit fit = Fit(k);
    const double middle = static_cast<double>(First(k) + End(k) - 1) / 2;
    for (size_t i = First(k); i < End(k); ++i) {
      residuals.push_back(values_[i] - fit.level - fit.slope * (static_cast<double>(i) - middle));
    }
  }
  return residuals;
}

double LevelModel::LongRunVariance() const {
  const size_t n = values_.size();
  return noise_.VarianceOfMean(n) * static_cast<double>(n);
}

double LevelModel::SlopePenalty() const {
  return LongRunVariance() * kSearchSlope * std::log(static_cast<double>(values_.size()));
}

double LevelModel::Penalised(size_t first, size_t end) const {
  const SegmentFit fit = BestFit(first, end);
  return fit.squares + (fit.slope != 0 ? SlopePenalty() : 0);
}

double LevelModel::Parameters() const {
  double count = 0;
  for (size_t k = 0; k < segments(); ++k) count += Fit(k).slope != 0 ? 2 : 1;
  return count;
}

void LevelModel::AssumeNoise(double correlation, double difference_spread) {
  const double r = correlation;
  noise_.correlation = r;
  noise_.scale = std::max(options_.floor, difference_spread / std::sqrt(2 * (1 - r)));
  noise_.variances = {0, noise_.scale * noise_.scale * (1 + r) / (1 - r)};
}

std::vector<size_t> LevelModel::CutAt(double cut_penalty) const {
  SegmentationOptions options;
  options.cut_penalty = cut_penalty;
  options.slope_penalty = options_.slopes ? SlopePenalty() : std::numeric_limits<double>::infinity();
  options.shortest = options_.shortest;
  options.shortest_first = options_.shortest_first;
  return Segment(costs_, options);
}

// -2 log likelihood, up to a constant, and the penalties.
double LevelModel::Criterion() const {
  const std::vector<double> r = Residuals();
  const auto n = static_cast<double>(r.size());
  double squares = 0, products = 0;
  for (size_t i = 1; i < r.size(); ++i) {
    squares += r[i - 1] * r[i - 1];
    products += r[i] * r[i - 1];
  }
  const double correlation = squares > 0 ? std::clamp(products / squares, 0.0, kMostCorrelation) : 0;
  double innovations = r[0] * r[0];
  for (size_t i = 1; i < r.size(); ++i) {
    const double e = r[i] - correlation * r[i - 1];
    innovations += e * e;
  }
  const double least = std::max(options_.floor * options_.floor, std::numeric_limits<double>::min());
  const auto cuts = static_cast<double>(cuts_.size());
  const double slopes = Parameters() - cuts - 1;
  return n * std::log(std::max(innovations / n, least)) +
         std::log(n) * (kCriterionCut * cuts + kCriterionSlope * slopes);
}

void LevelModel::Choose() {
  const double spread = DifferenceSpread(values_, 1);
  double best = std::numeric_limits<double>::infinity();
  std::vector<size_t> chosen;
  Noise noise;  // that explains best, under which slopes are told from none
  for (const double correlation : kCorrelations) {
    AssumeNoise(correlation, spread);
    cuts_ = CutAt(LongRunVariance() * kSearchCut * std::log(static_cast<double>(values_.size())));
    const double criterion = Criterion();
    if (criterion >= best) continue;
    best = criterion;
    chosen = cuts_;
    noise = noise_;
  }
  cuts_ = std::move(chosen);
  noise_ = std::move(noise);
}

void LevelModel::UpdateNoise() {
  const double parameters = Parameters();
  noise_ = NoiseFromResiduals(Residuals(), cuts_, parameters, options_.floor);
}

double LevelModel::NormalCutScore(size_t segment) const {
  const size_t a = First(segment), b = End(segment), c = End(segment + 1);
  const double split = Penalised(a, b) + Penalised(b, c);
  const bool flat = BestFit(a, b).slope == 0 && BestFit(b, c).slope == 0;
  // One slope says it as well.
  if (flat && options_.slopes && c - a >= kShortestSlope && costs_.Linear(a, c).squares < split) return 0;
  const double gain = (flat ? costs_.Constant(a, c).squares : Penalised(a, c)) - split;
  const auto left = static_cast<double>(b - a), right = static_cast<double>(c - b);
  const double variance = noise_.VarianceOfMean(b - a) + noise_.VarianceOfMean(c - b);
  if (!(gain > 0)) return 0;
  if (variance <= 0) return kMostScore;
  return NormalScore(std::sqrt(gain * (left + right) / (left * right) / variance), noise_.degrees);
}

double LevelModel::TailFactor(size_t segment) const {
  const size_t shorter =
      End(segment) - First(segment) < End(segment + 1) - First(segment + 1) ? segment : segment + 1;
  const size_t longer = shorter == segment ? segment + 1 : segment;
  const auto independent = [&](size_t k) {
    const double variance = noise_.VarianceOfMean(End(k) - First(k));
    return variance > 0 ? std::max(1.0, noise_.scale * noise_.scale / variance) : 1;
  };
  if (independent(shorter) > kManyValues) return 1;
  const size_t meeting = End(segment);
  const double level = ValueAt(longer, meeting), slope = Fit(shorter).slope;
  double mean = 0;
  for (size_t i = First(shorter); i < End(shorter); ++i) {
    mean += tails_.Bounded(raw_[i] - level - slope * (static_cast<double>(i) - static_cast<double>(meeting)));
  }
  mean /= static_cast<double>(End(shorter) - First(shorter));
  return tails_.ScoreFactor(mean, independent(shorter), independent(longer));
}

double LevelModel::CutScore(size_t segment) const {
  const double score = NormalCutScore(segment);
  return score > 0 ? score * TailFactor(segment) : score;
}

double LevelModel::SlopeScore(size_t segment) const {
  if (Fit(segment).slope == 0) return 0;
  const size_t first = First(segment), end = End(segment);
  const double gain = costs_.Constant(first, end).squares - costs_.Linear(first, end).squares;
  const double variance = noise_.VarianceOfMean(end - first) * static_cast<double>(end - first);
  if (variance <= 0) return kMostScore;
  return NormalScore(std::sqrt(gain / variance), noise_.degrees);
}

// Until all that are left are significant.
void LevelModel::RemoveWorst(bool with_tails) {
  while (true) {
    UpdateNoise();
    if (with_tails) {
      std::vector<double> residuals = Residuals();
      for (size_t i = 0; i < residuals.size(); ++i) residuals[i] += raw_[i] - values_[i];
      tails_ = ResidualTails(residuals);
    }
    if (cuts_.empty()) return;
    size_t worst = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < cuts_.size(); ++k) {
      const double score = with_tails ? CutScore(k) : NormalCutScore(k);
      if (score < least) {
        least = score;
        worst = k;
      }
    }
    if (SearchProbability(least, values_.size()) <= options_.p_limit) return;
    cuts_.erase(cuts_.begin() + static_cast<ptrdiff_t>(worst));
  }
}

void LevelModel::Prune() {
  RemoveWorst(false);
  RemoveWorst(true);
}

}  // namespace fleetmark::detect
