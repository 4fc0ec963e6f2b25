#include "common/run/repetitions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fleetmark {
namespace {

constexpr double kMadToSigma = 1.4826;

double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  // Halved before they are added: their sum may overflow.
  return *std::max_element(values.begin(), middle) / 2 + *middle / 2;
}

}  // namespace

Repetitions Summarize(std::vector<double> values) {
  Repetitions result;
  result.median = Median(values);
  if (result.median == 0) return result;
  for (double& value : values) value = std::fabs(value - result.median);
  const double spread = kMadToSigma * Median(values) / std::fabs(result.median);
  result.relative_spread = std::min(spread, std::numeric_limits<double>::max());
  return result;
}

}  // namespace fleetmark
