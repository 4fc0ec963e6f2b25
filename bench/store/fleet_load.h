// A fleet's measurements as a pure function of node, metric and step, so that every store is given exactly
// the same samples. Twenty metrics as benchmarks print them: eight with two decimals, four full doubles (a
// count over a time), four integers, three with three decimals, one of four significant digits; means from
// 100 to 10^12, noise of 1 to 2 %, a node's own offset of about 1 %, a run every 15 minutes.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_BENCH_STORE_FLEET_LOAD_H_
#define FLEETMARK_BENCH_STORE_FLEET_LOAD_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"

namespace fleetmark::bench {

inline constexpr int64_t kStepMs = 15 * 60 * 1000;
inline constexpr int kMetrics = 20;

// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
inline uint64_t Mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

inline double Uniform(uint64_t hash) { return static_cast<double>(hash >> 11) / 9007199254740992.0; }

// Box and Muller, 1958.
inline double Normal(uint64_t hash) {
  const double radius = std::sqrt(-2 * std::log(1 - Uniform(hash)));
  return radius * std::cos(6.283185307179586 * Uniform(Mixed(hash)));
}

enum class Shape { kTwoDecimals, kFull, kInteger, kThreeDecimals, kFourDigits };

inline Shape ShapeOf(int metric) {
  if (metric < 8) return Shape::kTwoDecimals;
  if (metric < 12) return Shape::kFull;
  if (metric < 16) return Shape::kInteger;
  return metric < 19 ? Shape::kThreeDecimals : Shape::kFourDigits;
}

inline double MeanOf(int metric) {
  constexpr std::array<double, 5> kDecades = {2, 9, 6, 3, 2};
  constexpr std::array<double, 5> kLeast = {1e2, 1e3, 1e6, 1e2, 1e2};
  const auto shape = static_cast<size_t>(ShapeOf(metric));
  return kLeast[shape] * std::pow(10, kDecades[shape] * Uniform(Mixed(7777 + static_cast<uint64_t>(metric))));
}

struct Noise {
  double mean = 0;
  double deviation = 0;
};

// What the values of this series scatter around, and how far.
inline Noise NoiseOf(int node, int metric) {
  const uint64_t series = static_cast<uint64_t>(node) * 64 + static_cast<uint64_t>(metric);
  const double mean = MeanOf(metric) * (1 + 0.01 * Normal(Mixed(series * 3 + 1)));
  return {mean, mean * (0.01 + 0.01 * Uniform(Mixed(series * 3 + 2)))};
}

inline double ValueOf(int node, int metric, int64_t step) {
  const uint64_t series = static_cast<uint64_t>(node) * 64 + static_cast<uint64_t>(metric);
  const Noise noise = NoiseOf(node, metric);
  const double v =
      noise.mean + noise.deviation * Normal(Mixed(series * 0x100000 + static_cast<uint64_t>(step)));
  switch (ShapeOf(metric)) {
    case Shape::kTwoDecimals:
      return std::round(v * 100) / 100;
    case Shape::kInteger:
      return std::round(v);
    case Shape::kThreeDecimals:
      return std::round(v * 1000) / 1000;
    case Shape::kFourDigits: {
      const double scale = std::pow(10, 3 - std::floor(std::log10(v)));
      return std::round(v * scale) / scale;
    }
    case Shape::kFull:
      break;
  }
  return v;
}

// The time of a node's run: on the grid, or up to `jitter_ms` after it.
inline int64_t TimeMs(int64_t t0_ms, int node, int64_t step, int64_t jitter_ms) {
  const uint64_t hash = Mixed(static_cast<uint64_t>(node) * 1'000'003 + static_cast<uint64_t>(step));
  const int64_t late = jitter_ms == 0 ? 0 : static_cast<int64_t>(hash % static_cast<uint64_t>(jitter_ms));
  return t0_ms + step * kStepMs + late;
}

inline std::string NodeName(int node) { return absl::StrFormat("node-%05d", node); }
inline std::string MetricName(int metric) { return absl::StrFormat("bench_m%02d", metric); }

struct LoadOptions {
  int port = 0;
  int first_node = 0;
  int nodes = 1000;
  int metrics = kMetrics;
  int64_t first_step = 0;
  int64_t steps = 96;
  int64_t t0_ms = 0;
  int64_t jitter_ms = 0;
  int connections = 4;
  int samples_per_request = 2000;
};

// Both end the process when the server refuses; they return once everything is acknowledged.
void SendRemoteWrite(const LoadOptions& options);
void SendFleetmark(const LoadOptions& options);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_STORE_FLEET_LOAD_H_
