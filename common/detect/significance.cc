#include "common/detect/significance.h"

#include <algorithm>
#include <cmath>

namespace fleetmark::detect {

double NormalScore(double t, double degrees) {
  const double root = std::sqrt(degrees * std::log1p(t * t / degrees));
  return root * (8 * degrees + 1) / (8 * degrees + 3);
}

double NormalQuantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                          6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                          3.754408661907416e+00};
  constexpr double kTail = 0.02425, kPi = 3.14159265358979323846;
  if (p > 0.5) return -NormalQuantile(1 - p);
  double x = 0;
  if (p < kTail) {
    const double q = std::sqrt(-2 * std::log(p));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
  const double step = error * std::sqrt(2 * kPi) * std::exp(x * x / 2);
  return x - step / (1 + x * step / 2);
}

double TwoSidedTail(double z) { return std::erfc(z / std::sqrt(2.0)); }

double SearchProbability(double z, size_t length) {
  // Cuts of neighbouring places are nearly the same look; the number of those that are not grows with z^2.
  // The factor makes the probability honest for noise with heavy or skewed tails, whose short means are not
  // normal yet, and careful for normal noise (bench/accuracy counts both).
  constexpr double kTails = 3;
  const double looks = kTails * static_cast<double>(length) * std::max(1.0, z * z / 4);
  return std::min(1.0, looks * TwoSidedTail(z));
}

}  // namespace fleetmark::detect
