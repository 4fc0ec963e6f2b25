#include "bench/accuracy/synthetic_series.h"

#include <cmath>
#include <random>

namespace fleetmark::bench {
namespace {

// One value after another of a family, in units of noise.
class Source {
 public:
  Source(Family family, uint64_t seed) : family_(family), rng_(seed * 7919 + static_cast<uint64_t>(family)) {}

  double Next() {
    const double i = static_cast<double>(index_++);
    switch (family_) {
      case Family::kGauss:
        return normal_(rng_);
      case Family::kStudent3:
        return std::student_t_distribution<double>(3)(rng_) / std::sqrt(3.0);
      case Family::kSkewed:
        return (std::gamma_distribution<double>(2)(rng_) - 2) / std::sqrt(2.0);
      case Family::kAr:
        return NextAr();
      case Family::kArOutliers: {
        const double value = NextAr();
        if (uniform_(rng_) >= 0.01) return value;
        const double size = 5 + 10 * uniform_(rng_);
        return value + (uniform_(rng_) < 0.5 ? size : -size);
      }
      case Family::kBimodal:
        return 0.5 * normal_(rng_) + (uniform_(rng_) < 0.2 ? 3 : 0);
      case Family::kSticky:
        if (uniform_(rng_) < 0.1) high_ = !high_;
        return 0.5 * normal_(rng_) + (high_ ? 3 : 0);
      case Family::kSeason:
        return normal_(rng_) + std::sin(i * 2 * 3.14159265358979 / 24);
      case Family::kDrift:
        return normal_(rng_) + 0.01 * i;
      case Family::kQuantised:
        return std::round(0.4 * normal_(rng_));
      case Family::kOutliers5:
        return normal_(rng_) - (uniform_(rng_) < 0.05 ? 10 : 0);
    }
    return 0;
  }

 private:
  double NextAr() {
    ar_ = 0.5 * ar_ + std::sqrt(0.75) * normal_(rng_);
    return ar_;
  }

  const Family family_;
  std::mt19937_64 rng_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  size_t index_ = 0;
  double ar_ = 0;
  bool high_ = false;
};

}  // namespace

std::string_view NameOf(Family family) {
  switch (family) {
    case Family::kGauss:
      return "gauss";
    case Family::kStudent3:
      return "t3";
    case Family::kSkewed:
      return "skewed";
    case Family::kAr:
      return "ar.5";
    case Family::kArOutliers:
      return "ar.5+outliers";
    case Family::kBimodal:
      return "bimodal";
    case Family::kSticky:
      return "sticky modes";
    case Family::kSeason:
      return "season";
    case Family::kDrift:
      return "drift";
    case Family::kQuantised:
      return "quantised";
    case Family::kOutliers5:
      return "5 % outliers";
  }
  return "";
}

std::vector<double> MakeSeries(Family family, size_t length, uint64_t seed) {
  Source source(family, seed);
  std::vector<double> values;
  values.reserve(length);
  for (size_t i = 0; i < length; ++i) values.push_back(kLevel + kNoise * source.Next());
  return values;
}

}  // namespace fleetmark::bench
