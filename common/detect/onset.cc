#include "common/detect/onset.h"

#include <algorithm>
#include <vector>

namespace fleetmark::detect {
namespace {

// Twice the loss of log likelihood that a place may have. The greatest gain of a random walk over its start
// has heavier tails than a chi-square variable of one degree of freedom; this covers it.
constexpr double kLoss = 7;

}  // namespace

OnsetInterval OnsetOf(const LevelModel& model, size_t segment, size_t shortest) {
  const size_t a = model.First(segment), best = model.End(segment), c = model.End(segment + 1);
  OnsetInterval interval{best, best};
  if (a + shortest > c - std::min(c, shortest)) return interval;
  const auto cost = [&](size_t at) { return model.BestFit(a, at).squares + model.BestFit(at, c).squares; };
  const double limit = cost(best) + kLoss * model.LongRunVariance();
  for (size_t at = a + std::min(shortest, best - a); at + std::min(shortest, c - best) <= c; ++at) {
    if (cost(at) > limit) continue;
    interval.low = std::min(interval.low, at);
    interval.high = std::max(interval.high, at);
  }
  return interval;
}

}  // namespace fleetmark::detect
