// Reads rows of CSV (RFC 4180) with a header, one row a line: a field in quotes can't go over the end of a
// line.
//
// The columns `time` (RFC 3339 or Unix seconds), `node`, `benchmark`, `metric` and `value` are needed, `unit`
// is optional, every other column is a label of the metric where it is not empty. Thread-safety: none.
// Errors: InvalidArgument says what is wrong with the line.
#ifndef FLEETMARK_COMMON_EXPOSITION_CSV_H_
#define FLEETMARK_COMMON_EXPOSITION_CSV_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/exposition/imported_runs.h"

namespace fleetmark {

absl::StatusOr<std::vector<std::string>> SplitCsvLine(std::string_view line);

class CsvReader {
 public:
  static constexpr size_t kMaxLineBytes = 64 * 1024;
  static constexpr size_t kMaxColumns = 64;

  // The first line that is not empty is the header, and an error of it is final: HeaderFailed. A row; nothing
  // for the header and for an empty line.
  absl::StatusOr<std::optional<ImportedMetric>> Line(std::string_view line);
  bool HeaderFailed() const { return header_failed_; }

 private:
  absl::Status ReadHeader(std::vector<std::string> names);

  std::vector<std::string> columns_;
  bool header_failed_ = false;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_EXPOSITION_CSV_H_
