#include "collector/fleet/exact_tests.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fleetmark::collector {
namespace {

constexpr size_t kExactPairs = 2500;  // earlier * later: what the exact count of ranks is done for

// std::lgamma writes a global variable.
double LogGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double LogChoose(size_t n, size_t k) {
  return LogGamma(static_cast<double>(n) + 1) - LogGamma(static_cast<double>(k) + 1) -
         LogGamma(static_cast<double>(n - k) + 1);
}

// The continued fraction of the incomplete beta function.
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double result = d;
  const auto step = [&](double term) {
    d = 1 + term * d;
    d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
    c = 1 + term / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    result *= d * c;
    return d * c;
  };
  for (int m = 1; m < 10'000; ++m) {
    const double two_m = 2.0 * m;
    step(m * (b - m) * x / ((a + two_m - 1) * (a + two_m)));
    const double change = step(-(a + m) * (a + b + m) * x / ((a + two_m) * (a + two_m + 1)));
    if (std::fabs(change - 1) < 1e-14) break;
  }
  return result;
}

// I_x(a, b).
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return std::clamp(front * BetaFraction(a, b, x) / a, 0.0, 1.0);
  return std::clamp(1 - front * BetaFraction(b, a, 1 - x) / b, 0.0, 1.0);
}

// P(U >= u) for samples of m and n without ties, by counting the orders with each U (Mann and Whitney, 1947).
double ExactRankTail(size_t m, size_t n, size_t u) {
  // share[j][v]: of the orders of i of the first and j of the second sample, the share with U = v.
  std::vector<std::vector<double>> share(n + 1, std::vector<double>(m * n + 1, 0));
  for (size_t j = 0; j <= n; ++j) share[j][0] = 1;
  for (size_t i = 1; i <= m; ++i) {
    std::vector<std::vector<double>> next(n + 1, std::vector<double>(m * n + 1, 0));
    next[0][0] = 1;
    for (size_t j = 1; j <= n; ++j) {
      const double first = static_cast<double>(i) / static_cast<double>(i + j);
      for (size_t v = 0; v <= i * j; ++v) {
        // The largest value belongs to the second sample, and is above all i; or to the first.
        next[j][v] = first * share[j][v] + (v >= i ? (1 - first) * next[j - 1][v - i] : 0);
      }
    }
    share = std::move(next);
  }
  double tail = 0;
  for (size_t v = m * n + 1; v-- > u;) tail += share[n][v];
  return std::min(1.0, tail);
}

}  // namespace

double FisherUpperTail(size_t found, size_t drawn, size_t marked, size_t total) {
  const size_t most = std::min(drawn, marked);
  const size_t unmarked = total - marked;
  const size_t least = drawn > unmarked ? drawn - unmarked : 0;
  if (found <= least) return 1;
  const double all = LogChoose(total, drawn);
  double tail = 0;
  for (size_t k = most + 1; k-- > found;) {
    tail += std::exp(LogChoose(marked, k) + LogChoose(unmarked, drawn - k) - all);
  }
  return std::min(1.0, tail);
}

double BinomialUpperTail(size_t k, size_t n, double probability) {
  if (k == 0) return 1;
  if (k > n || probability <= 0) return 0;
  if (probability >= 1) return 1;
  return IncompleteBeta(static_cast<double>(k), static_cast<double>(n - k) + 1, probability);
}

double StudentUpperTail(double t, double degrees) {
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  const double half = 0.5 * IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
  return t >= 0 ? half : 1 - half;
}

double MannWhitneyUpperTail(absl::Span<const double> earlier, absl::Span<const double> later) {
  if (earlier.empty() || later.empty()) return 1;
  std::vector<double> sorted(earlier.begin(), earlier.end());
  std::sort(sorted.begin(), sorted.end());
  double u = 0;
  for (const double value : later) {
    const auto range = std::equal_range(sorted.begin(), sorted.end(), value);
    u += static_cast<double>(range.first - sorted.begin()) +
         0.5 * static_cast<double>(range.second - range.first);
  }
  std::vector<double> all(earlier.begin(), earlier.end());
  all.insert(all.end(), later.begin(), later.end());
  std::sort(all.begin(), all.end());
  double ties = 0;
  for (size_t i = 0; i < all.size();) {
    size_t end = i + 1;
    while (end < all.size() && all[end] == all[i]) ++end;
    const auto t = static_cast<double>(end - i);
    ties += t * t * t - t;
    i = end;
  }
  const auto m = static_cast<double>(earlier.size());
  const auto n = static_cast<double>(later.size());
  if (ties == 0 && earlier.size() * later.size() <= kExactPairs) {
    return ExactRankTail(earlier.size(), later.size(), static_cast<size_t>(u));
  }
  const double count = m + n;
  const double variance = m * n / 12 * (count + 1 - ties / (count * (count - 1)));
  if (variance <= 0) return 1;
  return std::min(1.0, 0.5 * std::erfc((u - m * n / 2 - 0.5) / std::sqrt(2 * variance)));
}

}  // namespace fleetmark::collector
