// The output of monitoring plugins (Nagios, Icinga, Naemon): a status line, and after '|' performance data
//   'label'=value[unit];[warn];[crit];[min];[max]
// which may go on in the lines after it.
#include <algorithm>

#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

// Takes one label=value;... from the front. False at the end.
bool TakeItem(std::string_view* rest, std::string* label, std::string_view* data, bool* malformed) {
  *rest = Trim(*rest);
  if (rest->empty()) return false;
  label->clear();
  if ((*rest)[0] == '\'') {
    size_t i = 1;
    for (; i < rest->size(); ++i) {
      if ((*rest)[i] != '\'') {
        *label += (*rest)[i];
      } else if (i + 1 < rest->size() && (*rest)[i + 1] == '\'') {
        *label += (*rest)[i++];
      } else {
        break;
      }
    }
    rest->remove_prefix(std::min(i + 1, rest->size()));
  } else {
    const size_t end = std::min(rest->find_first_of("= \t"), rest->size());
    *label = std::string(rest->substr(0, end));
    rest->remove_prefix(end);
  }
  *malformed = label->empty() || !rest->starts_with("=");
  if (!*malformed) rest->remove_prefix(1);
  const size_t end = std::min(rest->find_first_of(" \t"), rest->size());
  *data = rest->substr(0, end);
  rest->remove_prefix(end);
  return true;
}

UnitSpelling UnitOf(std::string_view unit) {
  if (unit == "c") return {"count"};
  return FindUnit(unit).value_or(UnitSpelling{"1"});
}

// "10" alerts above 10, "10:" below 10.
std::string_view BetterOf(const std::vector<std::string_view>& fields) {
  for (size_t i = 2; i-- > 0;) {
    if (fields.size() <= i + 1) continue;
    const std::string_view range = Trim(fields[i + 1]);
    if (range.empty() || range[0] == '@') continue;
    if (range.ends_with(":")) return "higher";
    if (range.find(':') == std::string_view::npos || range.starts_with("~:") || range.starts_with("0:"))
      return "lower";
  }
  return "none";
}

void ReadPerformanceData(std::string_view rest, size_t line, Report& report) {
  std::string label;
  std::string_view data;
  bool malformed = false;
  while (TakeItem(&rest, &label, &data, &malformed)) {
    const auto fields = Split(data, ";");
    if (malformed) {
      report.Invalid(line, "performance data that is not label=value");
      continue;
    }
    if (fields[0] == "U" || fields[0].empty()) continue;  // "unknown"
    const Quantity quantity = ReadQuantity(fields[0]);
    if (quantity.number.kind == NumberKind::kNumber) {
      const UnitSpelling unit = UnitOf(quantity.unit);
      // "/var" and "var" are two labels and one name.
      const Labels labels = SnakeCase(label) == label ? Labels{} : Labels{{"label", label}};
      report.Add({label, unit.unit, BetterOf(fields), unit.scale}, quantity.number.value, labels, line);
    } else if (quantity.number.kind == NumberKind::kNotFinite) {
      report.Warning(line, Join({"'", label, "' is not finite and left out"}));
    } else if (quantity.number.kind == NumberKind::kMalformed) {
      report.Invalid(line, Join({"'", label, "': '", fields[0], "' is not a number"}));
    }
  }
}

// The word of the first line that says the state.
std::string_view StatusOf(std::string_view text) {
  for (std::string_view word : Words(text.substr(0, text.find('|')))) {
    word = word.substr(0, word.find_first_of(":,;-"));
    for (const std::string_view status : {"OK", "WARNING", "CRITICAL", "UNKNOWN"}) {
      if (word == status) return status;
    }
  }
  return "";
}

void ReportStatus(std::string_view status, size_t line, Report& report) {
  if (status == "UNKNOWN") return report.Failed(line, "the check could not tell");
  if (status == "CRITICAL" && report.metrics() == 0)
    return report.Failed(line, "the check is critical and measured nothing");
  if (status == "CRITICAL" || status == "WARNING")
    report.Warning(line, "the check's own limits are exceeded");
}

}  // namespace

void ReadNagios(const Options&, Report& report) {
  bool in_data = false;
  std::string_view status;
  size_t status_line = 0;
  for (const Line& line : report.text().lines()) {
    if (status_line == 0 && !Trim(line.text).empty()) {
      status = StatusOf(line.text);
      status_line = line.number;
    }
    // Text of several lines: data after the first '|' of the first line, and from the next '|' to the end.
    const size_t bar = line.text.find('|');
    if (bar != std::string_view::npos) {
      ReadPerformanceData(line.text.substr(bar + 1), line.number, report);
      in_data = line.number != status_line;
    } else if (in_data) {
      ReadPerformanceData(line.text, line.number, report);
    }
  }
  ReportStatus(status, status_line, report);
}

}  // namespace fleetmark::parse
