// The levels of a series and the noise around them, each found in the light of the other.
//
// Steps make noise look larger and more correlated than it is, and correlated noise looks like steps. So the
// series is cut under several assumed correlations, the explanation with the least Bayesian information
// criterion under autoregressive noise wins (as in S. Chakar et al., "A robust approach for estimating
// change-points in the mean of an AR(1) process", 2017, with slopes allowed and the correlation fitted
// anew), and cuts that are not significant under the noise that is left are then taken out, the least
// significant one first: at first as if means were normal, then with the residuals' own tails.
//
// Thread-safety: immutable. Both lists must outlive the model and be finite.
#ifndef FLEETMARK_COMMON_DETECT_LEVEL_MODEL_H_
#define FLEETMARK_COMMON_DETECT_LEVEL_MODEL_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

#include "common/detect/noise.h"
#include "common/detect/residual_tails.h"
#include "common/detect/segmentation.h"

namespace fleetmark::detect {

class LevelModel {
 public:
  struct Options {
    double p_limit = 0.01;      // of a cut, corrected for the search
    double floor = 0;           // noise that is always allowed for
    size_t shortest = 3;        // samples of a level
    size_t shortest_first = 8;  // samples of the first level: fewer are no history to compare with
    bool slopes = true;
  };

  // `raw` are the values with their outliers, as many as `values`: what the tails of the noise are told by.
  LevelModel(absl::Span<const double> values, absl::Span<const double> raw, Options options);

  size_t segments() const { return cuts_.size() + 1; }
  size_t First(size_t segment) const { return segment == 0 ? 0 : cuts_[segment - 1]; }
  size_t End(size_t segment) const { return segment < cuts_.size() ? cuts_[segment] : costs_.size(); }
  const std::vector<size_t>& cuts() const { return cuts_; }
  const Noise& noise() const { return noise_; }
  const SegmentCosts& costs() const { return costs_; }

  SegmentFit Fit(size_t segment) const { return BestFit(First(segment), End(segment)); }
  SegmentFit BestFit(size_t first, size_t end) const;
  double ValueAt(size_t segment, size_t index) const;  // of the fit
  std::vector<double> Residuals() const;

  // Of the cut between `segment` and the next, in standard deviations of a normal.
  double CutScore(size_t segment) const;
  // Of the segment's slope; 0 without one.
  double SlopeScore(size_t segment) const;
  // Variance of a mean of very many values, times their number.
  double LongRunVariance() const;

 private:
  double NormalCutScore(size_t segment) const;
  double TailFactor(size_t segment) const;
  void Choose();
  void Prune();
  void UpdateNoise();
  void RemoveWorst(bool with_tails);
  void AssumeNoise(double correlation, double difference_spread);
  std::vector<size_t> CutAt(double cut_penalty) const;
  double Criterion() const;
  double Parameters() const;
  double SlopePenalty() const;
  double Penalised(size_t first, size_t end) const;

  const Options options_;
  const SegmentCosts costs_;
  const absl::Span<const double> values_, raw_;
  Noise noise_;
  ResidualTails tails_;
  std::vector<size_t> cuts_;
};

}  // namespace fleetmark::detect

#endif  // FLEETMARK_COMMON_DETECT_LEVEL_MODEL_H_
