// What a person may do at most, and where: a role, and the areas of the interface that a token is good for.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_ACCESS_ROLE_H_
#define FLEETMARK_COLLECTOR_ACCESS_ROLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark::collector {

// Each may what those before it may.
enum class Role {
  kNobody,
  kViewer,    // reads
  kOperator,  // runs benchmarks, acknowledges, silences, notes, brings records in
  kAdmin,     // backs up, reads the audit log
};

// "viewer", "operator" or "admin"; InvalidArgument otherwise.
absl::StatusOr<Role> ParseRole(std::string_view text);
std::string RoleName(Role role);  // "nobody" too

// A set of parts of the interface, as bits.
using Areas = unsigned;
inline constexpr Areas kApi = 1;          // FleetService and the like, over gRPC and JSON
inline constexpr Areas kPrometheus = 2;   // queries under /api/v1, as Grafana asks them
inline constexpr Areas kMetrics = 4;      // /metrics
inline constexpr Areas kRemoteWrite = 8;  // /api/v1/write
inline constexpr Areas kEverywhere = kApi | kPrometheus | kMetrics | kRemoteWrite;

// "all", or names with commas: "prometheus,metrics". InvalidArgument with the names that there are.
absl::StatusOr<Areas> ParseAreas(std::string_view text);
std::string AreasText(Areas areas);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_ROLE_H_
