#include "plugins/parse/reframe.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fleetmark::parse {
namespace {

std::string_view DirectionOf(const ReframeValue& value, std::string_view unit) {
  if (value.lower && !value.upper) return "higher";
  if (value.upper && !value.lower) return "lower";
  return BetterOfUnit(unit);
}

bool IsGenerated(std::string_view parameter) {
  return parameter.starts_with(".") || parameter.starts_with("$") || parameter.starts_with("nid=");
}

}  // namespace

void AddReframeValue(const ReframeValue& value, Report& report) {
  if (value.value.kind == NumberKind::kAbsent) return;
  if (value.value.kind == NumberKind::kNotFinite) {
    return report.Warning(value.line, Join({"'", value.name, "' is not finite and left out"}));
  }
  if (value.value.kind == NumberKind::kMalformed) {
    return report.Invalid(value.line, Join({"'", value.name, "' has no number for a value"}));
  }
  const auto known = FindUnit(value.unit);
  const UnitSpelling unit = known.value_or(UnitSpelling{"1"});
  Metric metric = {.name = value.name,
                   .value = value.value.value * unit.scale,
                   .unit = std::string(unit.unit),
                   .labels = value.labels};
  if (!known && !value.unit.empty()) metric.labels["unit"] = value.unit;
  metric.better = std::string(DirectionOf(value, unit.unit));
  if (value.reference && (value.lower || value.upper)) {
    // Tolerances are fractions, but absolute where the reference is 0.
    const double scale = *value.reference == 0 ? unit.scale : 1;
    const auto scaled = [scale](const std::optional<double>& bound) {
      return bound ? std::optional(*bound * scale) : std::nullopt;
    };
    metric.reference = Reference{*value.reference * unit.scale, scaled(value.lower), scaled(value.upper)};
  }
  report.Add(std::move(metric), value.line);
}

ReframeResult ResultOf(std::string_view word) {
  static constexpr std::array<std::string_view, 2> kPass = {"pass", "success"};
  static constexpr std::array<std::string_view, 6> kFail = {"fail",    "failure",   "abort",
                                                            "aborted", "fail_deps", "xpass"};
  if (std::find(kPass.begin(), kPass.end(), word) != kPass.end()) return ReframeResult::kPass;
  if (std::find(kFail.begin(), kFail.end(), word) != kFail.end()) return ReframeResult::kFail;
  if (word == "xfail") return ReframeResult::kExpectedFailure;
  if (word == "skip" || word == "skipped") return ReframeResult::kSkip;
  return ReframeResult::kUnknown;
}

void CheckExitCode(std::string_view result, std::string_view test, std::string_view exit_code, size_t line,
                   Report& report) {
  if (ResultOf(result) != ReframeResult::kPass || !IsBadExitCode(exit_code)) return;
  report.Failed(line, Join({"test '", test, "' passed, but its job ended with status ", exit_code}));
}

bool IsBadExitCode(std::string_view exit_code) {
  const auto code = FiniteNumber(exit_code);
  return code && *code != 0;
}

void AddTestName(std::string_view display_name, Labels* labels) {
  const std::string_view without_scope = display_name.substr(0, display_name.find(" ~"));
  const auto parts = Split(without_scope, " %");
  (*labels)["test"] = std::string(Trim(parts[0]));
  std::string parameters;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (IsGenerated(parts[i])) continue;
    parameters += Join({parameters.empty() ? "" : " ", Trim(parts[i])});
  }
  if (!parameters.empty()) (*labels)["parameters"] = parameters;
}

}  // namespace fleetmark::parse
