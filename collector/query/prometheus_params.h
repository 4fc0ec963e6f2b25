// Parameters of Prometheus' HTTP API: from the URL, from a posted form, or from both.
//
// Thread-safety: functions without state. Errors: InvalidArgument "invalid parameter "NAME": …".
#ifndef FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_PARAMS_H_
#define FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_PARAMS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/http/http_server.h"

namespace fleetmark::collector {

class PrometheusParams {
 public:
  // InvalidArgument for a posted body of another type, or one that is not well formed.
  static absl::StatusOr<PrometheusParams> From(const HttpRequest& request);

  // The first value; empty if there is none.
  std::string Text(const std::string& name) const;
  std::vector<std::string> All(const std::string& name) const;

  // Milliseconds since 1970, given as Unix seconds or RFC 3339. Absent: `fallback`.
  absl::StatusOr<int64_t> TimeMs(const std::string& name, int64_t fallback) const;
  absl::StatusOr<int64_t> RequiredTimeMs(const std::string& name) const;
  // Given as seconds or as a duration ("1m30s"). Absent: `fallback`.
  absl::StatusOr<int64_t> DurationMs(const std::string& name, int64_t fallback) const;
  absl::StatusOr<int64_t> Integer(const std::string& name, int64_t fallback) const;

 private:
  std::multimap<std::string, std::string> params_;
};

// `text` of an application/x-www-form-urlencoded body; InvalidArgument for a broken escape.
absl::StatusOr<std::multimap<std::string, std::string>> ParseForm(std::string_view text);

// The error with the parameter's name before it.
absl::Status InvalidParameter(std::string_view name, const absl::Status& why);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_PARAMS_H_
