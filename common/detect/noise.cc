#include "common/detect/noise.h"

#include <algorithm>
#include <cmath>

namespace fleetmark::detect {
namespace {

constexpr size_t kReach = 3;  // neighbours on either side
constexpr double kMad = 1.4826;
constexpr size_t kLongestBlock =
    100;  // whose means are looked at; longer ones vary as this one's theory says

double UpperQuantile(std::vector<double>& values, double q) {
  const auto at = static_cast<ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

double SpreadAroundZero(std::vector<double>& magnitudes) {
  if (magnitudes.empty()) return 0;
  const double middle = kMad * UpperQuantile(magnitudes, 0.5);
  return std::max(middle, UpperQuantile(magnitudes, 0.9) / 1.645);
}

// Growth of the variance of a mean of n values when neighbours correlate by r as in an autoregressive
// process of first order.
double Inflation(double n, double r) {
  if (r <= 0) return 1;
  return (1 + r) / (1 - r) - 2 * r * (1 - std::pow(r, n)) / (n * (1 - r) * (1 - r));
}

// Variance of the means of `length` neighbours that lie in one segment.
struct BlockVariance {
  double variance = 0;
  double blocks = 0;  // that do not overlap
};

BlockVariance VarianceOfBlocks(const std::vector<double>& sums, absl::Span<const size_t> edges,
                               size_t length) {
  BlockVariance result;
  double total = 0, weight = 0;
  const auto l = static_cast<double>(length);
  for (size_t k = 0; k + 1 < edges.size(); ++k) {
    const size_t size = edges[k + 1] - edges[k];
    if (size < 4 * length) continue;
    double squares = 0;
    for (size_t i = edges[k]; i + length <= edges[k + 1]; ++i) {
      const double mean = (sums[i + length] - sums[i]) / l;
      squares += mean * mean;
    }
    const auto count = static_cast<double>(size - length + 1);
    // The segment's own mean was subtracted.
    total += squares / (1 - l / static_cast<double>(size));
    weight += count;
    result.blocks += static_cast<double>(size) / l;
  }
  if (weight > 0) result.variance = total / weight;
  return result;
}

}  // namespace

double MedianOf(absl::Span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  return *middle / 2 + *std::max_element(copy.begin(), middle) / 2;
}

double SpreadOf(absl::Span<const double> residuals) {
  std::vector<double> magnitudes;
  for (double r : residuals) magnitudes.push_back(std::fabs(r));
  return SpreadAroundZero(magnitudes);
}

std::vector<double> ClipOutliers(absl::Span<const double> values) {
  constexpr double kLimit = 4;
  std::vector<double> medians, magnitudes;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t first = i - std::min(i, kReach);
    const size_t end = std::min(values.size(), i + kReach + 1);
    medians.push_back(MedianOf(values.subspan(first, end - first)));
    magnitudes.push_back(std::fabs(values[i] - medians.back()));
  }
  const double limit = kLimit * SpreadAroundZero(magnitudes);
  std::vector<double> clipped(values.begin(), values.end());
  if (limit <= 0) return clipped;
  for (size_t i = 0; i < values.size(); ++i) {
    const double distance = values[i] - medians[i];
    if (std::fabs(distance) > limit) clipped[i] = medians[i] + std::copysign(limit / kLimit, distance);
  }
  return clipped;
}

double DifferenceSpread(absl::Span<const double> values, size_t lag) {
  std::vector<double> magnitudes;
  for (size_t i = lag; i < values.size(); ++i) magnitudes.push_back(std::fabs(values[i] - values[i - lag]));
  return SpreadAroundZero(magnitudes);
}

double Noise::VarianceOfMean(size_t length) const {
  const size_t known = std::min(length, variances.size() - 1);
  return variances[known] * static_cast<double>(known) / static_cast<double>(length);
}

Noise NoiseFromResiduals(absl::Span<const double> residuals, absl::Span<const size_t> boundaries,
                         double parameters, double floor) {
  const auto n = static_cast<double>(residuals.size());
  std::vector<size_t> edges = {0};
  edges.insert(edges.end(), boundaries.begin(), boundaries.end());
  edges.push_back(residuals.size());
  double squares = 0, products = 0;
  std::vector<double> sums = {0};
  for (double r : residuals) {
    squares += r * r;
    sums.push_back(sums.back() + r);
  }
  for (size_t k = 0; k + 1 < edges.size(); ++k) {
    for (size_t i = edges[k] + 1; i < edges[k + 1]; ++i) products += residuals[i] * residuals[i - 1];
  }
  Noise noise;
  const double raw = squares > 0 ? products / squares : 0;
  // Each fitted parameter biases the correlation down by about (1 + 3 r) / n.
  noise.correlation = std::clamp(raw + parameters * (1 + 3 * std::max(0.0, raw)) / n, 0.0, kMostCorrelation);
  const double r = noise.correlation;
  // Correlated values vary less around their own mean than around the true one.
  const double shrink = std::max(0.2, 1 - parameters / n * (1 + r) / (1 - r));
  noise.scale = std::max(floor, std::sqrt(squares / n / shrink));
  noise.degrees = std::max(3.0, (n - parameters) * (1 - r * r) / (1 + r * r));
  noise.variances.resize(residuals.size() + 1);
  double observed = 1;  // inflation, as far as blocks show it
  for (size_t l = 1; l <= residuals.size(); ++l) {
    const auto length = static_cast<double>(l);
    const double independent = noise.scale * noise.scale / length;
    const BlockVariance blocks =
        l <= kLongestBlock && 10 * l <= residuals.size() ? VarianceOfBlocks(sums, edges, l) : BlockVariance();
    if (blocks.blocks >= 10) observed = blocks.variance / independent;
    noise.variances[l] = independent * std::max({1.0, observed, Inflation(length, r)});
  }
  return noise;
}

}  // namespace fleetmark::detect
