// Functions of a window of samples. The formulas, with their compensated sums and the order of operations,
// are Prometheus', so that results agree to the last digits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "collector/promql/functions.h"

namespace fleetmark::collector::promql {
namespace {

using Params = std::span<const double>;
using Result = std::optional<double>;

// Neumaier's variant of Kahan's compensated summation.
struct KahanSum {
  double sum = 0;
  double compensation = 0;

  void Add(double value) {
    const double t = sum + value;
    compensation += std::fabs(sum) >= std::fabs(value) ? (sum - t) + value : (value - t) + sum;
    sum = t;
  }
  double total() const { return sum + compensation; }
};

Result AvgOverTime(const Window& w, Params) {
  KahanSum mean;
  double count = 0;
  for (const Point& point : w.points) {
    ++count;
    if (std::isinf(mean.sum)) {
      if (std::isinf(point.value) && (mean.sum > 0) == (point.value > 0)) continue;
      if (std::isfinite(point.value)) continue;
    }
    mean.Add(point.value / count - mean.sum / count);
  }
  return std::isinf(mean.sum) ? mean.sum : mean.total();
}

Result SumOverTime(const Window& w, Params) {
  KahanSum sum;
  for (const Point& point : w.points) sum.Add(point.value);
  return std::isinf(sum.sum) ? sum.sum : sum.total();
}

Result MinOverTime(const Window& w, Params) {
  double best = w.points.front().value;
  for (const Point& point : w.points) {
    if (point.value < best || std::isnan(best)) best = point.value;
  }
  return best;
}

Result MaxOverTime(const Window& w, Params) {
  double best = w.points.front().value;
  for (const Point& point : w.points) {
    if (point.value > best || std::isnan(best)) best = point.value;
  }
  return best;
}

Result StdvarOverTime(const Window& w, Params) {
  double count = 0;
  KahanSum mean;
  KahanSum squares;
  for (const Point& point : w.points) {
    ++count;
    const double delta = point.value - mean.total();
    mean.Add(delta / count);
    squares.Add(delta * (point.value - mean.total()));
  }
  return squares.total() / count;
}

Result StddevOverTime(const Window& w, Params params) { return std::sqrt(*StdvarOverTime(w, params)); }

Result CountOverTime(const Window& w, Params) { return static_cast<double>(w.points.size()); }
Result LastOverTime(const Window& w, Params) { return w.points.back().value; }
Result PresentOverTime(const Window&, Params) { return 1; }

Result QuantileOverTime(const Window& w, Params params) {
  std::vector<double> values;
  values.reserve(w.points.size());
  for (const Point& point : w.points) values.push_back(point.value);
  return Quantile(params[0], values);
}

double Seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }

// What the counter or gauge changed by over the whole window, extrapolated to its edges where the samples
// come near to them.
Result Extrapolated(const Window& w, bool counter, bool per_second) {
  if (w.points.size() < 2) return std::nullopt;
  const Point& first = w.points.front();
  const Point& last = w.points.back();
  double change = last.value - first.value;
  for (size_t i = 1; counter && i < w.points.size(); ++i) {
    if (w.points[i].value < w.points[i - 1].value) change += w.points[i - 1].value;  // it began anew
  }
  double to_start = Seconds(first.time_ms - w.start_ms);
  const double to_end = Seconds(w.end_ms - last.time_ms);
  const double sampled = Seconds(last.time_ms - first.time_ms);
  const double between = sampled / static_cast<double>(w.points.size() - 1);
  if (counter && change > 0 && first.value >= 0) {
    // A counter is not extrapolated to below zero.
    to_start = std::min(to_start, sampled * (first.value / change));
  }
  const double threshold = between * 1.1;
  double covered = sampled;
  covered += to_start < threshold ? to_start : between / 2;
  covered += to_end < threshold ? to_end : between / 2;
  double factor = covered / sampled;
  if (per_second) factor /= Seconds(w.range_ms);
  return change * factor;
}

Result Rate(const Window& w, Params) { return Extrapolated(w, true, true); }
Result Increase(const Window& w, Params) { return Extrapolated(w, true, false); }
Result Delta(const Window& w, Params) { return Extrapolated(w, false, false); }

// Of the last two samples.
Result InstantChange(const Window& w, bool rate) {
  if (w.points.size() < 2) return std::nullopt;
  const Point& last = w.points.back();
  const Point& before = w.points[w.points.size() - 2];
  double change = rate && last.value < before.value ? last.value : last.value - before.value;
  if (last.time_ms == before.time_ms) return std::nullopt;
  if (rate) change /= Seconds(last.time_ms - before.time_ms);
  return change;
}

Result Irate(const Window& w, Params) { return InstantChange(w, true); }
Result Idelta(const Window& w, Params) { return InstantChange(w, false); }

struct Line {
  double slope = 0;
  double intercept = 0;
};

// Least squares, with time counted from `origin_ms`.
Line FitLine(std::span<const Point> points, int64_t origin_ms) {
  KahanSum x_sum, y_sum, xy_sum, xx_sum;
  const double first = points.front().value;
  bool constant = true;
  for (const Point& point : points) {
    constant &= point.value == first;
    const double x = static_cast<double>(point.time_ms - origin_ms) / 1e3;
    x_sum.Add(x);
    y_sum.Add(point.value);
    xy_sum.Add(x * point.value);
    xx_sum.Add(x * x);
  }
  if (constant) {
    if (!std::isinf(first)) return {0, first};
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  }
  const auto n = static_cast<double>(points.size());
  const double covariance = xy_sum.total() - x_sum.total() * y_sum.total() / n;
  const double variance = xx_sum.total() - x_sum.total() * x_sum.total() / n;
  const double slope = covariance / variance;
  return {slope, y_sum.total() / n - slope * x_sum.total() / n};
}

Result Deriv(const Window& w, Params) {
  if (w.points.size() < 2) return std::nullopt;
  return FitLine(w.points, w.points.front().time_ms).slope;
}

Result PredictLinear(const Window& w, Params params) {
  if (w.points.size() < 2) return std::nullopt;
  const Line line = FitLine(w.points, w.eval_ms);
  return line.slope * params[0] + line.intercept;
}

Result Changes(const Window& w, Params) {
  double count = 0;
  for (size_t i = 1; i < w.points.size(); ++i) {
    const double a = w.points[i - 1].value;
    const double b = w.points[i].value;
    if (a != b && !(std::isnan(a) && std::isnan(b))) ++count;
  }
  return count;
}

Result Resets(const Window& w, Params) {
  double count = 0;
  for (size_t i = 1; i < w.points.size(); ++i) count += w.points[i].value < w.points[i - 1].value;
  return count;
}

// Double exponential smoothing; params are the smoothing and the trend factor, both in (0, 1), which the
// evaluator has checked.
Result HoltWinters(const Window& w, Params params) {
  if (w.points.size() < 2) return std::nullopt;
  const double sf = params[0];
  const double tf = params[1];
  double s0 = 0;
  double s1 = w.points[0].value;
  double b = w.points[1].value - w.points[0].value;
  for (size_t i = 1; i < w.points.size(); ++i) {
    const double x = sf * w.points[i].value;
    if (i > 1) b = tf * (s1 - s0) + (1 - tf) * b;
    const double y = (1 - sf) * (s1 + b);
    s0 = s1;
    s1 = x + y;
  }
  return s1;
}

}  // namespace

double Quantile(double q, std::vector<double>& values) {
  if (values.empty() || std::isnan(q)) return std::numeric_limits<double>::quiet_NaN();
  if (q < 0) return -std::numeric_limits<double>::infinity();
  if (q > 1) return std::numeric_limits<double>::infinity();
  const double n = static_cast<double>(values.size());
  const double rank = q * (n - 1);
  const double lower = std::max(0.0, std::floor(rank));
  const double upper = std::min(n - 1, lower + 1);
  const double weight = rank - std::floor(rank);
  const auto less = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; };
  const auto at = values.begin() + static_cast<ptrdiff_t>(lower);
  std::nth_element(values.begin(), at, values.end(), less);
  const double low = *at;
  const double high = upper == lower ? low : *std::min_element(at + 1, values.end(), less);
  return low * (1 - weight) + high * weight;
}

const std::vector<FunctionInfo>& RangeFunctions() {
  constexpr ValueType kM = ValueType::kMatrix;
  constexpr ValueType kS = ValueType::kScalar;
  static const std::vector<FunctionInfo> functions = {
      {.name = "avg_over_time", .args = {kM}, .range = AvgOverTime},
      {.name = "changes", .args = {kM}, .range = Changes},
      {.name = "count_over_time", .args = {kM}, .range = CountOverTime},
      {.name = "delta", .args = {kM}, .range = Delta},
      {.name = "deriv", .args = {kM}, .range = Deriv},
      {.name = "holt_winters", .args = {kM, kS, kS}, .range = HoltWinters},
      {.name = "idelta", .args = {kM}, .range = Idelta},
      {.name = "increase", .args = {kM}, .range = Increase},
      {.name = "irate", .args = {kM}, .range = Irate},
      {.name = "last_over_time", .args = {kM}, .range = LastOverTime, .keeps_name = true},
      {.name = "max_over_time", .args = {kM}, .range = MaxOverTime},
      {.name = "min_over_time", .args = {kM}, .range = MinOverTime},
      {.name = "predict_linear", .args = {kM, kS}, .range = PredictLinear},
      {.name = "present_over_time", .args = {kM}, .range = PresentOverTime},
      {.name = "quantile_over_time", .args = {kS, kM}, .range = QuantileOverTime},
      {.name = "rate", .args = {kM}, .range = Rate},
      {.name = "resets", .args = {kM}, .range = Resets},
      {.name = "stddev_over_time", .args = {kM}, .range = StddevOverTime},
      {.name = "stdvar_over_time", .args = {kM}, .range = StdvarOverTime},
      {.name = "sum_over_time", .args = {kM}, .range = SumOverTime},
  };
  return functions;
}

}  // namespace fleetmark::collector::promql
