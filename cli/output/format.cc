#include "cli/output/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fleetmark::cli {
namespace {

constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// "OUTCOME_OK" to "ok".
std::string Enumerator(const std::string& name, size_t prefix) {
  return absl::AsciiStrToLower(name.size() > prefix ? name.substr(prefix) : name);
}

// The largest unit that fits: "3 m", "5 d".
std::string Coarse(absl::Duration d) {
  struct Unit {
    absl::Duration length;
    const char* name;
  };
  static constexpr Unit kUnits[] = {
      {absl::Hours(24), "d"}, {absl::Hours(1), "h"}, {absl::Minutes(1), "m"}, {absl::Seconds(1), "s"}};
  for (const Unit& unit : kUnits) {
    if (d >= unit.length) return absl::StrCat(d / unit.length, " ", unit.name);
  }
  return "0 s";
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> Shrink(const std::vector<double>& values, size_t count) {
  if (values.size() <= count) return values;
  std::vector<double> shrunk;
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](size_t k) {
      return values.begin() + static_cast<std::ptrdiff_t>(k * values.size() / count);
    };
    shrunk.push_back(Median(std::vector<double>(at(i), at(i + 1))));
  }
  return shrunk;
}

}  // namespace

std::string FormatNumber(double value) {
  const double size = std::fabs(value);
  if (size >= 1000 && size < 1e15) return absl::StrFormat("%.0f", value);
  return absl::StrFormat("%.4g", value);
}

std::string FormatExact(double value) {
  for (int digits = 6; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && back == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

std::string FormatChange(double fraction) { return absl::StrFormat("%+.1f %%", fraction * 100); }

std::string FormatSeconds(double seconds) {
  if (std::fabs(seconds) < 0.1) return absl::StrFormat("%.3g ms", seconds * 1e3);
  if (seconds < 100) return absl::StrFormat("%.*f s", seconds < 10 ? 2 : 1, seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return absl::StrFormat("%d m %d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %d m", whole / 3600, whole / 60 % 60);
}

std::string FormatHumanBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.*f %s", unit == 0 || value >= 100 ? 0 : 1, value, kUnits[unit]);
}

std::string FormatAge(int64_t unix_ns, absl::Time now) {
  if (unix_ns == 0) return "never";
  const absl::Duration age = now - absl::FromUnixNanos(unix_ns);
  if (absl::AbsDuration(age) < absl::Seconds(1)) return "now";
  return age > absl::ZeroDuration() ? Coarse(age) + " ago" : "in " + Coarse(-age);
}

std::string FormatTime(int64_t unix_ns) {
  if (unix_ns == 0) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixNanos(unix_ns), absl::UTCTimeZone());
}

std::string FormatLabels(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    absl::StrAppend(&text, text.empty() ? "" : ",", name, "=", value);
  }
  return text;
}

std::string FormatMetric(const v1::Metric& metric) {
  if (metric.labels().empty()) return metric.name();
  return absl::StrCat(metric.name(), "{", FormatLabels(metric.labels()), "}");
}

std::string NameOf(v1::Outcome v) { return Enumerator(v1::Outcome_Name(v), sizeof("OUTCOME")); }
std::string NameOf(v1::Trigger v) { return Enumerator(v1::Trigger_Name(v), sizeof("TRIGGER")); }
std::string NameOf(v1::NodeState v) { return Enumerator(v1::NodeState_Name(v), sizeof("NODE_STATE")); }
std::string NameOf(v1::Finding::Kind v) { return Enumerator(v1::Finding::Kind_Name(v), sizeof("KIND")); }
std::string NameOf(v1::Finding::Direction v) {
  return Enumerator(v1::Finding::Direction_Name(v), sizeof("DIRECTION"));
}
std::string NameOf(v1::Finding::State v) { return Enumerator(v1::Finding::State_Name(v), sizeof("STATE")); }
std::string NameOf(v1::Event::Kind v) { return Enumerator(v1::Event::Kind_Name(v), sizeof("KIND")); }
std::string NameOf(v1::AlertLife::State v) {
  return Enumerator(v1::AlertLife::State_Name(v), sizeof("STATE"));
}
std::string NameOf(v1::AlertClass v) { return Enumerator(v1::AlertClass_Name(v), sizeof("ALERT_CLASS")); }
std::string NameOf(v1::AlertSeverity v) {
  return Enumerator(v1::AlertSeverity_Name(v), sizeof("ALERT_SEVERITY"));
}
std::string NameOf(v1::AlertChange::Kind v) {
  return Enumerator(v1::AlertChange::Kind_Name(v), sizeof("KIND"));
}

std::string Sparkline(const std::vector<double>& values, size_t columns) {
  if (values.empty() || columns == 0) return "";
  const std::vector<double> shown = Shrink(values, columns);
  const auto [low, high] = std::minmax_element(shown.begin(), shown.end());
  const double span = *high - *low;
  constexpr size_t kLevels = std::size(kBars);
  std::string line;
  for (const double value : shown) {
    // A level line where nothing differs, in the middle.
    const double height = span > 0 ? (value - *low) / span : 0.5;
    const auto level = std::min(kLevels - 1, static_cast<size_t>(height * kLevels));
    line += kBars[level];
  }
  return line;
}

}  // namespace fleetmark::cli
