#include "collector/detect/robust_statistics.h"

#include <algorithm>
#include <cmath>

namespace fleetmark::collector {
namespace {

double QuantileOfSorted(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

std::vector<double> Sorted(absl::Span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

double Median(absl::Span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  return *middle / 2 + *std::max_element(copy.begin(), middle) / 2;
}

double Quantile(absl::Span<const double> values, double q) { return QuantileOfSorted(Sorted(values), q); }

double RobustSpread(absl::Span<const double> values) {
  constexpr double kDeciles = 2.563;  // between the deciles of a standard normal
  constexpr double kMad = 1.4826;
  const std::vector<double> sorted = Sorted(values);
  const double median = QuantileOfSorted(sorted, 0.5);
  std::vector<double> deviations;
  deviations.reserve(sorted.size());
  for (double v : sorted) deviations.push_back(std::fabs(v - median));
  const double deciles = (QuantileOfSorted(sorted, 0.9) - QuantileOfSorted(sorted, 0.1)) / kDeciles;
  return std::max(kMad * Median(deviations), deciles);
}

double Quantum(absl::Span<const double> values) {
  const std::vector<double> sorted = Sorted(values);
  double quantum = 0;
  const double* last = nullptr;
  for (size_t i = 0; i + 1 < sorted.size();) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    if (end - i > 1) {
      if (last != nullptr && (quantum == 0 || sorted[i] - *last < quantum)) quantum = sorted[i] - *last;
      last = &sorted[i];
    }
    i = end;
  }
  return quantum;
}

double LagOneCorrelation(absl::Span<const double> values, double spread) {
  if (values.size() < 4 || spread <= 0) return 0;
  const double median = Median(values);
  const auto residual = [&](size_t i) { return std::clamp(values[i] - median, -3 * spread, 3 * spread); };
  double mean = 0;
  for (size_t i = 0; i < values.size(); ++i) mean += residual(i);
  const auto n = static_cast<double>(values.size());
  mean /= n;
  double products = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double r = residual(i) - mean;
    squares += r * r;
    if (i > 0) products += r * (residual(i - 1) - mean);
  }
  if (squares <= 0) return 0;
  const double raw = products / squares;
  const double corrected = raw + (1 + 3 * raw) / n;
  return std::clamp(corrected - 1 / std::sqrt(n), 0.0, 0.9);
}

double MedianVariance(size_t n) {
  constexpr double kPi = 3.14159265358979;
  return kPi / (2 * static_cast<double>(n) + kPi - 2);
}

double VarianceInflation(size_t n, double correlation) {
  double inflation = 1;
  double power = correlation;
  for (size_t k = 1; k < n && power > 1e-4; ++k, power *= correlation) {
    inflation += 2 * (1 - static_cast<double>(k) / static_cast<double>(n)) * power;
  }
  return inflation;
}

double NormalFromStudent(double t, double degrees) {
  const double root = std::sqrt(degrees * std::log1p(t * t / degrees));
  return root * (8 * degrees + 1) / (8 * degrees + 3);
}

double TwoSidedNormalTail(double z) { return std::erfc(z / std::sqrt(2.0)); }

double BinomialTail(size_t n, size_t k, double probability) {
  double term = std::pow(1 - probability, static_cast<double>(n));  // P(X = 0)
  const double odds = probability / (1 - probability);
  double tail = 0;
  for (size_t i = 0; i <= n; ++i) {
    if (i >= k) tail += term;
    term *= odds * static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return std::min(tail, 1.0);
}

}  // namespace fleetmark::collector
