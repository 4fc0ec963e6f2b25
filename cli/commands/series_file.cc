#include "cli/commands/series_file.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "google/protobuf/struct.pb.h"

#include "common/base/status.h"
#include "common/plugin/json_text.h"

namespace fleetmark::cli {
namespace {

using google::protobuf::Value;

struct Row {
  double seconds = 0;
  std::string time;
  std::optional<double> value;
};

absl::StatusOr<double> ParseTime(absl::string_view text, const std::string& where) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds) && std::isfinite(seconds)) return seconds;
  for (const char* format : {"%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d"}) {
    absl::Time time;
    if (absl::ParseTime(format, text, &time, nullptr)) return absl::ToDoubleSeconds(time - absl::UnixEpoch());
  }
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": \"", text.substr(0, 40), "\" is no time: a number or RFC 3339 is expected"));
}

// Nothing for an empty value or "nan".
absl::StatusOr<std::optional<double>> ParseValue(absl::string_view text, const std::string& where) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (text.empty() || lower == "nan" || lower == "null") return std::optional<double>();
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": \"", text.substr(0, 40), "\" is no finite number"));
  }
  return std::optional<double>(value);
}

// In time order, where there are times.
absl::StatusOr<FileSeries> FromRows(std::vector<Row> rows, bool timed) {
  if (rows.size() > kMaxSeriesFileSamples) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxSeriesFileSamples, " samples; give a part of the series"));
  }
  if (timed) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.seconds < b.seconds; });
  }
  FileSeries series;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].value.has_value()) continue;
    series.values.push_back(*rows[i].value);
    series.indices.push_back(i);
    if (timed) series.times.push_back(std::move(rows[i].time));
  }
  if (series.values.empty()) return absl::InvalidArgumentError("the file holds no values");
  return series;
}

// --- CSV
// ----------------------------------------------------------------------------------------------------

std::vector<absl::string_view> Cells(absl::string_view line) {
  std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  for (absl::string_view& cell : cells) {
    cell = absl::StripAsciiWhitespace(cell);
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
  }
  return cells;
}

struct Columns {
  size_t count = 1;
  size_t value = 0;
  bool timed = false;
  size_t time = 0;  // where it is timed
};

// Whether the line is a header; then `columns` is what it says.
bool ReadHeader(const std::vector<absl::string_view>& cells, Columns& columns) {
  bool named = false;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string name = absl::AsciiStrToLower(cells[i]);
    if (name == "value") {
      columns.value = i;
      named = true;
    } else if (!columns.timed && (name == "time" || name == "timestamp" || name == "index")) {
      columns.timed = true;
      columns.time = i;
    }
  }
  if (named) return true;
  columns.timed = cells.size() == 2;
  columns.time = 0;
  columns.value = cells.size() - 1;
  double number = 0;
  const std::string last = absl::AsciiStrToLower(cells.back());
  return !last.empty() && last != "nan" && last != "null" && !absl::SimpleAtod(last, &number);
}

absl::StatusOr<FileSeries> ParseCsv(absl::string_view text) {
  std::vector<Row> rows;
  Columns columns;
  size_t number = 0;
  bool begun = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripSuffix(line, "\r");
    // An empty line is a missing value of a file without times; elsewhere, and at the end, it is nothing.
    if (line.empty() && (!begun || columns.count > 1)) continue;
    const std::vector<absl::string_view> cells = Cells(line);
    if (!begun) {
      begun = true;
      columns.count = cells.size();
      const bool header = ReadHeader(cells, columns);
      if (columns.count > 2 && !header) {
        return absl::InvalidArgumentError(
            "line 1: more than two columns, and no header that names one value");
      }
      if (header) continue;
    }
    const std::string where = absl::StrCat("line ", number);
    if (cells.size() != columns.count) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, " has ", cells.size(), " columns instead of ", columns.count));
    }
    Row row;
    if (columns.timed) {
      row.time = std::string(cells[columns.time]);
      FM_ASSIGN_OR_RETURN(row.seconds, ParseTime(row.time, where));
    }
    FM_ASSIGN_OR_RETURN(row.value, ParseValue(cells[columns.value], where));
    rows.push_back(std::move(row));
  }
  return FromRows(std::move(rows), columns.timed);
}

// --- JSON
// ---------------------------------------------------------------------------------------------------

const Value* Member(const Value& value, const std::string& key) {
  const auto& fields = value.struct_value().fields();
  const auto found = fields.find(key);
  return found == fields.end() ? nullptr : &found->second;
}

absl::Status SetTime(const Value& time, const std::string& where, Row& row) {
  row.time = time.has_number_value() ? CanonicalNumber(time.number_value()) : time.string_value();
  FM_ASSIGN_OR_RETURN(row.seconds, ParseTime(row.time, where));
  return absl::OkStatus();
}

absl::Status SetValue(const Value& value, const std::string& where, Row& row) {
  if (value.has_null_value()) return absl::OkStatus();
  if (!value.has_number_value() || !std::isfinite(value.number_value())) {
    return absl::InvalidArgumentError(absl::StrCat(where, " is no finite number"));
  }
  row.value = value.number_value();
  return absl::OkStatus();
}

absl::StatusOr<FileSeries> ParseList(const Value& list) {
  std::vector<Row> rows;
  size_t timed = 0;
  for (const Value& item : list.list_value().values()) {
    const std::string where = absl::StrCat("item ", rows.size());
    Row row;
    const Value* value = &item;
    const Value* time = nullptr;
    if (item.has_list_value() && item.list_value().values_size() == 2) {
      time = &item.list_value().values(0);
      value = &item.list_value().values(1);
    } else if (item.has_struct_value()) {
      time = Member(item, "time");
      value = Member(item, "value");
    }
    if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat(where, " has no \"value\""));
    if (time != nullptr) {
      ++timed;
      FM_RETURN_IF_ERROR(SetTime(*time, where, row));
    }
    FM_RETURN_IF_ERROR(SetValue(*value, where, row));
    rows.push_back(std::move(row));
  }
  if (timed != 0 && timed != rows.size()) {
    return absl::InvalidArgumentError("some samples have a time and some have none");
  }
  return FromRows(std::move(rows), timed != 0);
}

absl::StatusOr<FileSeries> ParseJson(std::string_view text) {
  FM_ASSIGN_OR_RETURN(const Value json, ParseJsonValue(text));
  if (json.has_list_value()) return ParseList(json);
  for (const char* key : {"series", "values"}) {
    const Value* list = Member(json, key);
    if (list == nullptr || !list->has_list_value()) continue;
    // The Turing Change Point Dataset: one object a dimension, with its values under "raw".
    if (list->list_value().values_size() == 1 && Member(list->list_value().values(0), "raw") != nullptr) {
      return ParseList(*Member(list->list_value().values(0), "raw"));
    }
    return ParseList(*list);
  }
  return absl::InvalidArgumentError("the JSON is no list and holds none under \"series\" or \"values\"");
}

}  // namespace

absl::StatusOr<FileSeries> ParseSeriesFile(std::string_view text) {
  if (text.size() > kMaxSeriesFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file is larger than ", kMaxSeriesFileBytes, " bytes"));
  }
  const absl::string_view all(text.data(), text.size());
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(all);
  if (!begin.empty() && (begin.front() == '[' || begin.front() == '{')) return ParseJson(text);
  // The last line's end begins no line of its own.
  return ParseCsv(absl::StripSuffix(all, "\n"));
}

}  // namespace fleetmark::cli
