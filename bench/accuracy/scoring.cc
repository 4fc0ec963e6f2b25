#include "bench/accuracy/scoring.h"

#include <algorithm>
#include <set>
#include <utility>

namespace fleetmark::bench {
namespace {

using Range = std::pair<size_t, size_t>;

std::vector<Range> SegmentsOf(const Cuts& cuts, size_t length) {
  std::vector<Range> segments;
  size_t first = 0;
  for (size_t cut : cuts) {
    if (cut <= first || cut >= length) continue;
    segments.emplace_back(first, cut);
    first = cut;
  }
  segments.emplace_back(first, length);
  return segments;
}

double CoveringOf(const std::vector<Range>& truth, const std::vector<Range>& found, size_t length) {
  double total = 0;
  for (const auto& [a, b] : truth) {
    double best = 0;
    for (const auto& [c, d] : found) {
      const size_t low = std::max(a, c), high = std::min(b, d);
      if (high <= low) continue;
      const size_t all = std::max(b, d) - std::min(a, c);
      best = std::max(best, static_cast<double>(high - low) / static_cast<double>(all));
    }
    total += static_cast<double>(b - a) * best;
  }
  return total / static_cast<double>(length);
}

Cuts WithFirst(const Cuts& cuts) {
  std::set<size_t> all(cuts.begin(), cuts.end());
  all.insert(0);
  return Cuts(all.begin(), all.end());
}

}  // namespace

size_t Matched(const Cuts& truth, const Cuts& found, size_t margin) {
  std::vector<bool> used(found.size(), false);
  size_t hits = 0;
  for (size_t t : truth) {
    size_t best = found.size(), least = margin + 1;
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t distance = std::max(t, found[i]) - std::min(t, found[i]);
      if (!used[i] && distance < least) {
        least = distance;
        best = i;
      }
    }
    if (best == found.size()) continue;
    used[best] = true;
    ++hits;
  }
  return hits;
}

double F1Score(const std::vector<Cuts>& annotations, const Cuts& found, size_t margin) {
  const Cuts predicted = WithFirst(found);
  Cuts all;
  double recall = 0;
  for (const Cuts& list : annotations) {
    const Cuts truth = WithFirst(list);
    all.insert(all.end(), truth.begin(), truth.end());
    recall += static_cast<double>(Matched(truth, predicted, margin)) / static_cast<double>(truth.size());
  }
  recall /= static_cast<double>(annotations.size());
  const double hits = static_cast<double>(Matched(WithFirst(all), predicted, margin));
  const double precision = hits / static_cast<double>(predicted.size());
  return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
}

double Covering(const std::vector<Cuts>& annotations, const Cuts& found, size_t length) {
  const std::vector<Range> segments = SegmentsOf(found, length);
  double total = 0;
  for (const Cuts& list : annotations) total += CoveringOf(SegmentsOf(list, length), segments, length);
  return total / static_cast<double>(annotations.size());
}

}  // namespace fleetmark::bench
