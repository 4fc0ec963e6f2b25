#include "common/detect/spread_change.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/detect/level_model.h"
#include "common/detect/noise.h"
#include "common/detect/onset.h"
#include "common/detect/significance.h"

namespace fleetmark::detect {
namespace {

constexpr size_t kShortest = 12;     // samples that tell a spread
constexpr double kLeastRatio = 1.5;  // of spreads, that matters
constexpr double kMad = 1.4826;

std::vector<double> NormalScores(absl::Span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> scores(values.size());
  const double n = static_cast<double>(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double rank = static_cast<double>(i + end + 1) / 2;  // of equal values the mean, from 1
    for (; i < end; ++i) scores[order[i]] = NormalQuantile(rank / (n + 1));
  }
  return scores;
}

}  // namespace

std::vector<SpreadChange> FindSpreadChanges(absl::Span<const double> residuals, double p_limit) {
  std::vector<SpreadChange> changes;
  if (residuals.size() < 2 * kShortest) return changes;
  std::vector<double> magnitudes;
  for (double r : residuals) magnitudes.push_back(std::fabs(r));
  const std::vector<double> scores = NormalScores(magnitudes);
  LevelModel::Options options;
  options.p_limit = p_limit;
  options.shortest = options.shortest_first = kShortest;
  options.slopes = false;
  const LevelModel model(scores, scores, options);
  const absl::Span<const double> all(magnitudes);
  for (size_t k = 0; k + 1 < model.segments(); ++k) {
    SpreadChange change;
    change.index = model.End(k);
    change.before = kMad * MedianOf(all.subspan(model.First(k), model.End(k) - model.First(k)));
    change.after = kMad * MedianOf(all.subspan(model.First(k + 1), model.End(k + 1) - model.First(k + 1)));
    if (std::max(change.before, change.after) < kLeastRatio * std::min(change.before, change.after)) continue;
    const OnsetInterval onset = OnsetOf(model, k, kShortest);
    change.onset_low = onset.low;
    change.onset_high = onset.high;
    change.score = model.CutScore(k);
    change.p_value = SearchProbability(change.score, residuals.size());
    changes.push_back(change);
  }
  return changes;
}

}  // namespace fleetmark::detect
