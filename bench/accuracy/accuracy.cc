#include "bench/accuracy/accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "collector/detect/evaluation.h"

namespace fleetmark::bench {
namespace {

constexpr int64_t kInterval = 900'000'000'000;  // a quarter of an hour between samples
constexpr size_t kHistory = 400;

}  // namespace

std::vector<Said> Replay(absl::Span<const double> values, const collector::Detector& detector) {
  std::vector<collector::Point> points;
  for (double v : values) points.push_back({static_cast<int64_t>(points.size() + 1) * kInterval, v});
  v1::Series series;
  series.set_series_id(1);
  series.set_better(v1::BETTER_HIGHER);
  const collector::Detector* const detectors[] = {&detector};
  collector::SeriesState state;
  std::vector<Said> said;
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t first = i - std::min(i, kHistory);
    collector::EvaluationInput input;
    input.series = &series;
    input.history = absl::MakeConstSpan(points).subspan(first, i - first);
    input.fresh = absl::MakeConstSpan(points).subspan(i, 1);
    input.detectors = detectors;
    input.now_unix_ns = points[i].time_unix_ns;
    for (v1::Finding& finding : collector::Evaluate(input, state).changed) {
      if (finding.state() != v1::Finding::STATE_OPEN) continue;
      const auto onset = static_cast<size_t>(finding.onset_latest_unix_ns() / kInterval - 1);
      said.push_back({i, std::move(finding), onset});
    }
  }
  return said;
}

double FalseFindings(Family family, const collector::Detector& detector, size_t series, size_t length,
                     uint64_t seed) {
  size_t count = 0;
  for (size_t i = 0; i < series; ++i) count += Replay(MakeSeries(family, length, seed + i), detector).size();
  return 1000.0 * static_cast<double>(count) / static_cast<double>(series * length);
}

StepScore FindStep(Family family, const collector::Detector& detector, double step, size_t before,
                   size_t length, size_t series, uint64_t seed) {
  std::vector<double> delays;
  size_t early = 0;
  for (size_t i = 0; i < series; ++i) {
    std::vector<double> values = MakeSeries(family, length, seed + i);
    for (size_t k = before; k < length; ++k) values[k] -= step * kNoise;
    for (const Said& said : Replay(values, detector)) {
      const bool near = std::llabs(static_cast<long long>(said.onset) - static_cast<long long>(before)) <= 5;
      if (said.at < before || !near || said.finding.direction() != v1::Finding::DIRECTION_WORSE) continue;
      delays.push_back(static_cast<double>(said.at - before + 1));
      if (said.at - before < 5) ++early;
      break;
    }
  }
  StepScore score;
  score.found = static_cast<double>(delays.size()) / static_cast<double>(series);
  score.within_5 = static_cast<double>(early) / static_cast<double>(series);
  if (!delays.empty()) {
    std::sort(delays.begin(), delays.end());
    score.median_delay = delays[delays.size() / 2];
  }
  return score;
}

}  // namespace fleetmark::bench
