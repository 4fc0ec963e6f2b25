// Functions of one value: mathematics and dates.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"

#include "collector/promql/functions.h"

namespace fleetmark::collector::promql {
namespace {

using Params = std::span<const double>;

// As Go's math.Max and math.Min: NaN if either is.
double Max(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return std::max(a, b);
}
double Min(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return std::min(a, b);
}

double Round(double v, Params params) {
  const double inverse = 1.0 / (params.empty() ? 1.0 : params[0]);
  return std::floor(v * inverse + 0.5) / inverse;
}

double Sign(double v, Params) { return v < 0 ? -1 : (v > 0 ? 1 : v); }

// Beyond these seconds, year 1 to 9999 and then some, civil time is of no use.
constexpr double kMaxSeconds = 1e12;

absl::CivilSecond Civil(double seconds) {
  const double bounded = std::isnan(seconds) ? 0 : std::clamp(seconds, -kMaxSeconds, kMaxSeconds);
  return absl::ToCivilSecond(absl::FromUnixSeconds(static_cast<int64_t>(bounded)), absl::UTCTimeZone());
}

double DaysInMonth(double v, Params) {
  const absl::CivilMonth month(Civil(v));
  return static_cast<double>(absl::CivilDay(month + 1) - absl::CivilDay(month));
}
double DayOfWeek(double v, Params) {
  // absl counts from Monday, Prometheus from Sunday.
  const auto day = static_cast<int>(absl::GetWeekday(absl::CivilDay(Civil(v))));
  return (day + 1) % 7;
}

template <double (*F)(double)>
double Apply(double v, Params) {
  return F(v);
}

constexpr ValueType kV = ValueType::kVector;
constexpr ValueType kS = ValueType::kScalar;

FunctionInfo Math(std::string_view name, ElementFunction function) {
  return {.name = name, .args = {kV}, .element = function};
}
FunctionInfo Date(std::string_view name, ElementFunction function) {
  return {.name = name, .args = {kV}, .optional_args = 1, .element = function};
}

}  // namespace

const std::vector<FunctionInfo>& ElementFunctions() {
  static const std::vector<FunctionInfo> functions = {
      Math("abs", Apply<std::fabs>),
      Math("acos", Apply<std::acos>),
      Math("acosh", Apply<std::acosh>),
      Math("asin", Apply<std::asin>),
      Math("asinh", Apply<std::asinh>),
      Math("atan", Apply<std::atan>),
      Math("atanh", Apply<std::atanh>),
      Math("ceil", Apply<std::ceil>),
      Math("cos", Apply<std::cos>),
      Math("cosh", Apply<std::cosh>),
      Math("deg", [](double v, Params) { return v * 180 / std::numbers::pi; }),
      Math("exp", Apply<std::exp>),
      Math("floor", Apply<std::floor>),
      Math("ln", Apply<std::log>),
      Math("log10", Apply<std::log10>),
      Math("log2", Apply<std::log2>),
      Math("rad", [](double v, Params) { return v * std::numbers::pi / 180; }),
      Math("sgn", Sign),
      Math("sin", Apply<std::sin>),
      Math("sinh", Apply<std::sinh>),
      Math("sqrt", Apply<std::sqrt>),
      Math("tan", Apply<std::tan>),
      Math("tanh", Apply<std::tanh>),
      {.name = "clamp",
       .args = {kV, kS, kS},
       .element = [](double v, Params p) { return Max(p[0], Min(p[1], v)); }},
      {.name = "clamp_max", .args = {kV, kS}, .element = [](double v, Params p) { return Min(p[0], v); }},
      {.name = "clamp_min", .args = {kV, kS}, .element = [](double v, Params p) { return Max(p[0], v); }},
      {.name = "round", .args = {kV, kS}, .optional_args = 1, .element = Round},
      Date("day_of_month", [](double v, Params) { return static_cast<double>(Civil(v).day()); }),
      Date("day_of_week", DayOfWeek),
      Date("day_of_year",
           [](double v, Params) { return static_cast<double>(absl::GetYearDay(absl::CivilDay(Civil(v)))); }),
      Date("days_in_month", DaysInMonth),
      Date("hour", [](double v, Params) { return static_cast<double>(Civil(v).hour()); }),
      Date("minute", [](double v, Params) { return static_cast<double>(Civil(v).minute()); }),
      Date("month", [](double v, Params) { return static_cast<double>(Civil(v).month()); }),
      Date("year", [](double v, Params) { return static_cast<double>(Civil(v).year()); }),
  };
  return functions;
}

}  // namespace fleetmark::collector::promql
