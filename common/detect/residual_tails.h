// What the tails of a series' own residuals make of a difference between two means: for heavy or skewed
// noise the mean of a few values is not normal, and a difference that a normal would hardly ever show is
// nothing new there.
//
// Saddlepoint approximation of the distribution of the difference under the smoothed empirical
// distribution of the residuals (R. Lugannani, S. Rice, "Saddle point approximation for the distribution of
// the sum of independent random variables", 1980, in the form r* of O. E. Barndorff-Nielsen, 1986; with an
// empirical distribution: A. C. Davison, D. V. Hinkley, "Saddlepoint approximations in resampling methods",
// 1988).
//
// Thread-safety: immutable. Values must be finite.
#ifndef FLEETMARK_COMMON_DETECT_RESIDUAL_TAILS_H_
#define FLEETMARK_COMMON_DETECT_RESIDUAL_TAILS_H_

#include <vector>

#include "absl/types/span.h"

namespace fleetmark::detect {

class ResidualTails {
 public:
  explicit ResidualTails(absl::Span<const double> residuals);

  // A residual brought back to four robust standard deviations: one wild value is to speak once, however
  // wild it is.
  double Bounded(double residual) const;

  // The mean of `left` values less that of `right` others (numbers of independent values, at least 1) is
  // `difference`: by how much its normal score must be multiplied, 0 to 1.
  double ScoreFactor(double difference, double left, double right) const;

 private:
  struct Cumulants {
    double value = 0, first = 0, second = 0;
  };
  Cumulants At(double t) const;
  Cumulants OfDifference(double t, double left, double right) const;

  double limit_ = 0;           // of a residual's magnitude
  double scale_ = 0;           // standard deviation of the bounded residuals, smoothed
  double smoothing_ = 0;       // variance, in units of the scale
  std::vector<double> units_;  // bounded residuals less their mean, in units of the scale
};

}  // namespace fleetmark::detect

#endif  // FLEETMARK_COMMON_DETECT_RESIDUAL_TAILS_H_
