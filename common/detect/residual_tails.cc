#include "common/detect/residual_tails.h"

#include <algorithm>
#include <cmath>

#include "common/detect/noise.h"

namespace fleetmark::detect {
namespace {

constexpr double kBound = 4;           // robust standard deviations
constexpr double kMostDifference = 6;  // standard deviations; beyond it the factor does not change
constexpr double kSilverman = 0.9;     // bandwidth of the smoothing, times n to the power -1/5
constexpr int kMostSteps = 60;

}  // namespace

ResidualTails::ResidualTails(absl::Span<const double> residuals) : limit_(kBound * SpreadOf(residuals)) {
  if (residuals.empty() || limit_ <= 0) return;
  const auto n = static_cast<double>(residuals.size());
  double mean = 0, squares = 0;
  for (double r : residuals) units_.push_back(Bounded(r));
  for (double u : units_) mean += u / n;
  for (double& u : units_) {
    u -= mean;
    squares += u * u;
  }
  const double deviation = std::sqrt(squares / n);
  if (deviation <= 0) {
    units_.clear();
    return;
  }
  const double bandwidth = kSilverman * std::pow(n, -0.2);
  scale_ = deviation * std::sqrt(1 + bandwidth * bandwidth);
  smoothing_ = bandwidth * bandwidth / (1 + bandwidth * bandwidth);
  for (double& u : units_) u /= scale_;
}

double ResidualTails::Bounded(double residual) const {
  return limit_ > 0 ? std::clamp(residual, -limit_, limit_) : residual;
}

ResidualTails::Cumulants ResidualTails::At(double t) const {
  double sum = 0, first = 0, second = 0;
  for (double u : units_) {
    const double weight = std::exp(t * u);
    sum += weight;
    first += weight * u;
    second += weight * u * u;
  }
  const double mean = first / sum;
  return {std::log(sum / static_cast<double>(units_.size())) + smoothing_ * t * t / 2, mean + smoothing_ * t,
          second / sum - mean * mean + smoothing_};
}

ResidualTails::Cumulants ResidualTails::OfDifference(double t, double left, double right) const {
  const Cumulants a = At(t / left), b = At(-t / right);
  return {left * a.value + right * b.value, a.first - b.first, a.second / left + b.second / right};
}

double ResidualTails::ScoreFactor(double difference, double left, double right) const {
  if (units_.empty()) return 1;
  if (difference < 0) return ScoreFactor(-difference, right, left);
  const double target = std::min(difference / scale_, kMostDifference);
  const double normal = target / std::sqrt(1 / left + 1 / right);
  if (normal < 1) return 1;  // nothing that could be significant
  // The derivative grows with t, so a root between bounds stays between them.
  double low = 0, high = 2 * target / smoothing_ / (1 / left + 1 / right), t = normal * normal / target;
  Cumulants at;
  for (int step = 0; step < kMostSteps; ++step) {
    at = OfDifference(t, left, right);
    if (std::fabs(at.first - target) < 1e-7 * target) break;
    (at.first < target ? low : high) = t;
    t -= (at.first - target) / at.second;
    if (!(t > low && t < high)) t = (low + high) / 2;
  }
  const double root = std::sqrt(std::max(0.0, 2 * (t * target - at.value)));
  const double weight = t * std::sqrt(at.second);
  if (!(root > 0.5) || !(weight > 0)) return 1;
  return std::clamp((root + std::log(weight / root) / root) / normal, 0.0, 1.0);
}

}  // namespace fleetmark::detect
