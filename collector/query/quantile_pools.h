// Quantiles of many pools of numbers at once, within a bound of memory: exact while they are few, and from
// then on within kRelativeError, by counting them in cells whose bounds grow by a constant factor (Masson,
// Rim, Lee: DDSketch, VLDB 2019).
//
// A quantile q of n numbers is interpolated between the two that stand next to rank q·(n-1), as PromQL's
// quantile does. NaN is not counted.
//
// Thread-safety: none.
// Errors: ResourceExhausted.
#ifndef FLEETMARK_COLLECTOR_QUERY_QUANTILE_POOLS_H_
#define FLEETMARK_COLLECTOR_QUERY_QUANTILE_POOLS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fleetmark::collector {

class QuantilePools {
 public:
  static constexpr double kRelativeError = 0.001;

  struct Limits {
    size_t pools = 200'000;
    size_t exact_values = 2'000'000;  // in all pools; with more, cells are counted
    size_t cells = 1'000'000;         // in all pools
  };
  // Which pool: of a group, at a step of time.
  using Key = std::pair<size_t, int64_t>;

  struct Answer {
    Key key;
    uint64_t count = 0;
    std::vector<double> values;  // as the quantiles asked for
  };

  QuantilePools() : QuantilePools(Limits()) {}
  explicit QuantilePools(const Limits& limits) : limits_(limits) {}

  absl::Status Add(const Key& key, absl::Span<const double> values);

  // Ascending in key. To be called once, last.
  std::vector<Answer> Quantiles(absl::Span<const double> quantiles);

  bool exact() const { return exact_; }

 private:
  struct Pool {
    uint64_t count = 0;
    std::vector<double> values;                    // while exact
    absl::flat_hash_map<int32_t, uint64_t> cells;  // after; ascending as the numbers are
    double min = 0;
    double max = 0;
  };

  void Count(absl::Span<const double> values, Pool* pool);
  static double ExactQuantile(absl::Span<const double> sorted, double q);
  static std::vector<double> CellQuantiles(const Pool& pool, absl::Span<const double> quantiles);

  const Limits limits_;
  bool exact_ = true;
  size_t held_ = 0;   // values, while exact
  size_t cells_ = 0;  // in all pools
  absl::flat_hash_map<Key, Pool> pools_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_QUANTILE_POOLS_H_
