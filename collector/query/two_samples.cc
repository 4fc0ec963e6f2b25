#include "collector/query/two_samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace fleetmark::collector {
namespace {

constexpr double kNormal975 = 1.959964;

double MedianOfSorted(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The interval leaves out the `rank` - 1 least and greatest of `sorted`. A rank below 1 would need values
// beyond those that are there.
Shift FromSorted(const std::vector<double>& sorted, double rank) {
  Shift shift;
  shift.estimate = MedianOfSorted(sorted);
  if (rank < 1) return shift;
  const auto place = static_cast<size_t>(std::floor(rank)) - 1;
  if (place < sorted.size() - place) shift.interval.emplace(sorted[place], sorted[sorted.size() - 1 - place]);
  return shift;
}

}  // namespace

Shift ShiftBetween(absl::Span<const double> a, absl::Span<const double> b) {
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double from : a) {
    for (const double to : b) differences.push_back(to - from);
  }
  std::sort(differences.begin(), differences.end());
  const auto m = static_cast<double>(a.size()), n = static_cast<double>(b.size());
  return FromSorted(differences, m * n / 2 + 0.5 - kNormal975 * std::sqrt(m * n * (m + n + 1) / 12));
}

Shift ShiftOfPairs(absl::Span<const double> differences) {
  std::vector<double> means;
  means.reserve(differences.size() * (differences.size() + 1) / 2);
  for (size_t i = 0; i < differences.size(); ++i) {
    for (size_t j = i; j < differences.size(); ++j) means.push_back((differences[i] + differences[j]) / 2);
  }
  std::sort(means.begin(), means.end());
  const auto n = static_cast<double>(differences.size());
  return FromSorted(means, n * (n + 1) / 4 + 0.5 - kNormal975 * std::sqrt(n * (n + 1) * (2 * n + 1) / 24));
}

double Superiority(absl::Span<const double> a, absl::Span<const double> b) {
  std::vector<double> sorted(a.begin(), a.end());
  std::sort(sorted.begin(), sorted.end());
  double wins = 0;
  for (const double value : b) {
    const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), value);
    wins += static_cast<double>(low - sorted.begin()) + static_cast<double>(high - low) / 2;
  }
  return wins / (static_cast<double>(a.size()) * static_cast<double>(b.size()));
}

}  // namespace fleetmark::collector
