#include "common/exposition/csv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark {
namespace {

constexpr std::array<const char*, 5> kNeeded = {"time", "node", "benchmark", "metric", "value"};
constexpr double kMaxSeconds = 9e9;  // nanoseconds stay within int64

absl::StatusOr<int64_t> ParseTime(const std::string& text) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    if (std::isfinite(seconds) && std::fabs(seconds) < kMaxSeconds) return std::llround(seconds * 1e9);
  } else {
    absl::Time time;
    std::string error;
    if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return absl::ToUnixNanos(time);
  }
  return absl::InvalidArgumentError(absl::StrCat("time '", text, "' is neither RFC 3339 nor Unix seconds"));
}

absl::Status SetColumn(const std::string& column, std::string value, ImportedMetric* row) {
  if (column == "time") {
    FM_ASSIGN_OR_RETURN(row->time_unix_ns, ParseTime(value));
  } else if (column == "node") {
    row->node = std::move(value);
  } else if (column == "benchmark") {
    row->benchmark = std::move(value);
  } else if (column == "metric") {
    row->metric = std::move(value);
  } else if (column == "unit") {
    row->unit = std::move(value);
  } else if (column == "value") {
    if (!absl::SimpleAtod(value, &row->value)) {
      return absl::InvalidArgumentError(absl::StrCat("value '", value, "' is no number"));
    }
  } else if (!value.empty()) {
    row->labels.emplace(column, std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitCsvLine(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  bool closed = false;  // after the quote that ends a field
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        fields.back().push_back(c);
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        fields.back().push_back('"');
        ++i;
      } else {
        quoted = false;
        closed = true;
      }
    } else if (c == ',') {
      if (fields.size() >= CsvReader::kMaxColumns) return absl::InvalidArgumentError("more than 64 columns");
      fields.emplace_back();
      closed = false;
    } else if (closed) {
      return absl::InvalidArgumentError("something follows the quote that ends a field");
    } else if (c == '"' && fields.back().empty()) {
      quoted = true;
    } else {
      fields.back().push_back(c);
    }
  }
  if (quoted) return absl::InvalidArgumentError("a quoted field does not end in its line");
  return fields;
}

absl::Status CsvReader::ReadHeader(std::vector<std::string> names) {
  for (const char* needed : kNeeded) {
    if (std::find(names.begin(), names.end(), needed) == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the header has no column '", needed,
                                                     "'; needed are time, node, benchmark, metric, value"));
    }
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    FM_RETURN_IF_ERROR(CheckIdentifier("column", name));
    if (!seen.insert(name).second)
      return absl::InvalidArgumentError(absl::StrCat("column '", name, "' comes twice"));
  }
  columns_ = std::move(names);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<ImportedMetric>> CsvReader::Line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kMaxLineBytes) {
    return absl::InvalidArgumentError(absl::StrCat("longer than ", kMaxLineBytes, " bytes"));
  }
  if (line.empty()) return std::nullopt;
  if (!IsValidUtf8(line)) return absl::InvalidArgumentError("is not UTF-8");
  absl::StatusOr<std::vector<std::string>> fields = SplitCsvLine(line);
  if (columns_.empty()) {
    const absl::Status header = fields.ok() ? ReadHeader(*std::move(fields)) : fields.status();
    header_failed_ = !header.ok();
    if (header_failed_) return header;
    return std::nullopt;
  }
  FM_RETURN_IF_ERROR(fields.status());
  if (fields->size() != columns_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(fields->size(), " fields instead of ", columns_.size()));
  }
  ImportedMetric row;
  for (size_t i = 0; i < columns_.size(); ++i) {
    FM_RETURN_IF_ERROR(SetColumn(columns_[i], std::move((*fields)[i]), &row));
  }
  return row;
}

}  // namespace fleetmark
