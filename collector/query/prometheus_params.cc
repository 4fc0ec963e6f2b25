#include "collector/query/prometheus_params.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "collector/promql/label_set.h"
#include "collector/promql/lexer.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxParams = 1000;
constexpr double kMaxSeconds = 9e12;  // as for `@` in a query

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

absl::StatusOr<std::string> DecodeForm(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return absl::InvalidArgumentError("invalid URL escape in the form");
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

absl::StatusOr<int64_t> ParseTimeMs(const std::string& text) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    if (std::isfinite(seconds) && std::fabs(seconds) < kMaxSeconds) {
      return static_cast<int64_t>(std::round(seconds * 1000));
    }
  } else {
    absl::Time time;
    std::string error;
    if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return absl::ToUnixMillis(time);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cannot parse ", View(promql::Quoted(text)), " to a valid timestamp"));
}

absl::StatusOr<int64_t> ParseParamDurationMs(const std::string& text) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    if (std::isfinite(seconds) && std::fabs(seconds) < kMaxSeconds) {
      return static_cast<int64_t>(seconds * 1000);
    }
  } else if (const absl::StatusOr<int64_t> duration = promql::ParseDurationMs(text); duration.ok()) {
    return *duration;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cannot parse ", View(promql::Quoted(text)), " to a valid duration"));
}

}  // namespace

absl::Status InvalidParameter(std::string_view name, const absl::Status& why) {
  if (why.ok()) return why;
  return absl::InvalidArgumentError(absl::StrCat("invalid parameter \"", View(name), "\": ", why.message()));
}

absl::StatusOr<std::multimap<std::string, std::string>> ParseForm(std::string_view text) {
  std::multimap<std::string, std::string> params;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    if (params.size() >= kMaxParams) return absl::InvalidArgumentError("more than 1000 parameters");
    const size_t equals = std::min(pair.find('='), pair.size());
    FM_ASSIGN_OR_RETURN(std::string name, DecodeForm(pair.substr(0, equals)));
    FM_ASSIGN_OR_RETURN(std::string value, DecodeForm(pair.substr(std::min(pair.size(), equals + 1))));
    params.emplace(std::move(name), std::move(value));
  }
  return params;
}

absl::StatusOr<PrometheusParams> PrometheusParams::From(const HttpRequest& request) {
  PrometheusParams out;
  out.params_ = request.query;
  if (request.method != "POST" || request.body.empty()) return out;
  const auto type = request.headers.find("content-type");
  if (type == request.headers.end() ||
      !absl::StartsWithIgnoreCase(type->second, "application/x-www-form-urlencoded")) {
    return absl::InvalidArgumentError("Content-Type must be application/x-www-form-urlencoded");
  }
  FM_ASSIGN_OR_RETURN(auto form, ParseForm(request.body));
  out.params_.merge(std::move(form));
  return out;
}

std::string PrometheusParams::Text(const std::string& name) const {
  const auto it = params_.find(name);
  return it == params_.end() ? std::string() : it->second;
}

std::vector<std::string> PrometheusParams::All(const std::string& name) const {
  std::vector<std::string> out;
  const auto [begin, end] = params_.equal_range(name);
  for (auto it = begin; it != end; ++it) out.push_back(it->second);
  return out;
}

absl::StatusOr<int64_t> PrometheusParams::TimeMs(const std::string& name, int64_t fallback) const {
  const std::string text = Text(name);
  if (text.empty()) return fallback;
  absl::StatusOr<int64_t> time = ParseTimeMs(text);
  if (!time.ok()) return InvalidParameter(name, time.status());
  return time;
}

absl::StatusOr<int64_t> PrometheusParams::RequiredTimeMs(const std::string& name) const {
  absl::StatusOr<int64_t> time = ParseTimeMs(Text(name));
  if (!time.ok()) return InvalidParameter(name, time.status());
  return time;
}

absl::StatusOr<int64_t> PrometheusParams::DurationMs(const std::string& name, int64_t fallback) const {
  const std::string text = Text(name);
  if (text.empty() && fallback != 0) return fallback;
  absl::StatusOr<int64_t> duration = ParseParamDurationMs(text);
  if (!duration.ok()) return InvalidParameter(name, duration.status());
  return duration;
}

absl::StatusOr<int64_t> PrometheusParams::Integer(const std::string& name, int64_t fallback) const {
  const std::string text = Text(name);
  int64_t value = fallback;
  if (!text.empty() && !absl::SimpleAtoi(text, &value)) {
    return InvalidParameter(name, absl::InvalidArgumentError("must be a number"));
  }
  return value;
}

}  // namespace fleetmark::collector
