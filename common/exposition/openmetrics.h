// Reads OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/), line by line, so that one
// broken line does not lose the others.
//
// Of a file it keeps the units that `# UNIT` lines give, at most kMaxFamilies. Exemplars are skipped.
// Thread-safety: none. Errors: InvalidArgument says what is wrong with the line.
#ifndef FLEETMARK_COMMON_EXPOSITION_OPENMETRICS_H_
#define FLEETMARK_COMMON_EXPOSITION_OPENMETRICS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fleetmark {

struct ExpositionSample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
  std::optional<int64_t> time_unix_ns;
};

class OpenMetricsReader {
 public:
  static constexpr size_t kMaxLineBytes = 64 * 1024;
  static constexpr size_t kMaxFamilies = 100'000;

  // A sample, or nothing for a comment, an empty line and `# EOF`. `line` has no line feed.
  absl::StatusOr<std::optional<ExpositionSample>> Line(std::string_view line);

  // What `# UNIT` said of the family; empty: nothing.
  std::string UnitOf(const std::string& name) const;

  // `# EOF` was read: nothing may follow.
  bool ended() const { return ended_; }

 private:
  absl::Status Comment(std::string_view line);

  std::map<std::string, std::string> units_;
  bool ended_ = false;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_EXPOSITION_OPENMETRICS_H_
