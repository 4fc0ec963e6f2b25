#include "collector/query/quantile_pools.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

constexpr double kGrowth = (1 + QuantilePools::kRelativeError) / (1 - QuantilePools::kRelativeError);
constexpr int32_t kOne = 1'000'000;  // the cell of numbers just up to 1; beyond what an exponent can reach

// Ascending with the number; 0 for zero.
int32_t CellOf(double value) {
  static const double scale = 1 / std::log(kGrowth);
  const double size = std::clamp(std::abs(value), std::numeric_limits<double>::denorm_min(),
                                 std::numeric_limits<double>::max());
  const int32_t cell = kOne + static_cast<int32_t>(std::ceil(std::log(size) * scale));
  if (value == 0) return 0;
  return value > 0 ? cell : -cell;
}

// No number of the cell is farther from it than kRelativeError.
double MiddleOf(int32_t cell) {
  if (cell == 0) return 0;
  const double size = 2 / (kGrowth + 1) * std::pow(kGrowth, std::abs(cell) - kOne);
  return cell > 0 ? size : -size;
}

double Between(double low, double high, double part) {
  // Keeps infinities, and equal neighbours as they are.
  return part == 0 || low == high ? low : low * (1 - part) + high * part;
}

}  // namespace

absl::Status QuantilePools::Add(const Key& key, absl::Span<const double> values) {
  const auto [it, made] = pools_.try_emplace(key);
  if (made && pools_.size() > limits_.pools) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", limits_.pools, " groups times steps"));
  }
  Pool& pool = it->second;
  if (exact_) {
    for (const double value : values) {
      if (!std::isnan(value)) pool.values.push_back(value);
    }
    held_ += values.size();
    if (held_ <= limits_.exact_values) return absl::OkStatus();
    exact_ = false;
    for (auto& [other, full] : pools_) Count(std::exchange(full.values, {}), &full);
  } else {
    Count(values, &pool);
  }
  if (cells_ > limits_.cells) {
    return absl::ResourceExhaustedError("the values differ too much in too many groups and steps");
  }
  return absl::OkStatus();
}

void QuantilePools::Count(absl::Span<const double> values, Pool* pool) {
  const size_t before = pool->cells.size();
  for (const double value : values) {
    if (std::isnan(value)) continue;
    pool->min = pool->count == 0 ? value : std::min(pool->min, value);
    pool->max = pool->count == 0 ? value : std::max(pool->max, value);
    ++pool->count;
    ++pool->cells[CellOf(value)];
  }
  cells_ += pool->cells.size() - before;
}

double QuantilePools::ExactQuantile(absl::Span<const double> sorted, double q) {
  const double rank = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(rank);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return Between(sorted[low], sorted[high], rank - static_cast<double>(low));
}

std::vector<double> QuantilePools::CellQuantiles(const Pool& pool, absl::Span<const double> quantiles) {
  std::vector<std::pair<int32_t, uint64_t>> cells(pool.cells.begin(), pool.cells.end());
  std::sort(cells.begin(), cells.end());
  const auto at_rank = [&](uint64_t rank) {
    if (rank == 0) return pool.min;
    if (rank + 1 >= pool.count) return pool.max;
    for (const auto& [cell, count] : cells) {
      if (rank < count) return std::clamp(MiddleOf(cell), pool.min, pool.max);
      rank -= count;
    }
    return pool.max;
  };
  std::vector<double> out;
  for (const double q : quantiles) {
    const double rank = q * static_cast<double>(pool.count - 1);
    const auto low = static_cast<uint64_t>(rank);
    out.push_back(Between(at_rank(low), at_rank(low + 1), rank - static_cast<double>(low)));
  }
  return out;
}

std::vector<QuantilePools::Answer> QuantilePools::Quantiles(absl::Span<const double> quantiles) {
  std::vector<Answer> answers;
  answers.reserve(pools_.size());
  for (auto& [key, pool] : pools_) {
    Answer answer{key, exact_ ? pool.values.size() : pool.count, {}};
    if (answer.count == 0) continue;
    if (exact_) {
      std::sort(pool.values.begin(), pool.values.end());
      for (const double q : quantiles) answer.values.push_back(ExactQuantile(pool.values, q));
    } else {
      answer.values = CellQuantiles(pool, quantiles);
    }
    answers.push_back(std::move(answer));
  }
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) { return a.key < b.key; });
  return answers;
}

}  // namespace fleetmark::collector
