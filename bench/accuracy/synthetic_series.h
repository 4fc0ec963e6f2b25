// Series with known truth, to measure detectors by. All have level 100 and noise 2 (a standard deviation,
// where the family has one), so that a step is given in units of noise.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_BENCH_ACCURACY_SYNTHETIC_SERIES_H_
#define FLEETMARK_BENCH_ACCURACY_SYNTHETIC_SERIES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fleetmark::bench {

enum class Family {
  kGauss,
  kStudent3,    // Student t, 3 degrees
  kSkewed,      // gamma of shape 2
  kAr,          // autoregressive, 0.5
  kArOutliers,  // the same, 1 % of the values off by 5 to 15
  kBimodal,     // 20 % of the values higher by 3, the rest with noise 0.5
  kSticky,      // the same two modes, but in spells of 10 samples on average
  kSeason,      // a sine of amplitude 1 and period 24
  kDrift,       // 0.01 a sample
  kQuantised,   // 0.4 times the noise, rounded to whole numbers
  kOutliers5,   // 5 % of the values lower by 10: a benchmark that is disturbed now and then
};

inline constexpr Family kFamilies[] = {Family::kGauss,     Family::kStudent3,   Family::kSkewed,
                                       Family::kAr,        Family::kArOutliers, Family::kBimodal,
                                       Family::kSticky,    Family::kSeason,     Family::kDrift,
                                       Family::kQuantised, Family::kOutliers5};

std::string_view NameOf(Family family);

inline constexpr double kLevel = 100;
inline constexpr double kNoise = 2;

std::vector<double> MakeSeries(Family family, size_t length, uint64_t seed);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_ACCURACY_SYNTHETIC_SERIES_H_
