#include "common/history/written_time.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

constexpr double kMaxSeconds = 9e9;  // nanoseconds stay within int64
constexpr int64_t kNsPerMs = 1'000'000;

// What names its zone comes first.
constexpr const char* kFormats[] = {absl::RFC3339_full, "%Y-%m-%dT%H:%M:%E*S%z", "%Y-%m-%dT%H:%M:%E*S",
                                    "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d_%H-%M-%S"};

// "20260304T101112…" with its separators, which the formats need: %Y takes as many digits as there are.
std::string Separated(const std::string& text) {
  const bool compact = text.size() >= 15 && text.find_first_not_of("0123456789") == 8 && text[8] == 'T';
  if (!compact) return text;
  return absl::StrCat(text.substr(0, 4), "-", text.substr(4, 2), "-", text.substr(6, 5), ":",
                      text.substr(11, 2), ":", text.substr(13));
}

}  // namespace

absl::StatusOr<int64_t> ReadWrittenTime(const std::string& text, absl::TimeZone zone) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds) && std::isfinite(seconds) && seconds > 0 && seconds < kMaxSeconds) {
    return std::llround(seconds * 1e3) * kNsPerMs;
  }
  for (const char* format : kFormats) {
    absl::Time time;
    std::string error;
    if (!absl::ParseTime(format, Separated(text), zone, &time, &error)) continue;
    const int64_t milliseconds = absl::ToUnixMillis(time);
    if (milliseconds > 0 && milliseconds < static_cast<int64_t>(kMaxSeconds) * 1000) {
      return milliseconds * kNsPerMs;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("time '", text, "' is neither Unix seconds nor a date such as 2026-03-04T10:11:12+00:00"));
}

}  // namespace fleetmark
