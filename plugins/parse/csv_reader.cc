// The reader `csv`: named columns of a table, or with no metrics asked for every column of numbers.
#include <algorithm>

#include "plugins/parse/csv_table.h"
#include "plugins/parse/json_documents.h"
#include "plugins/parse/metric_options.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

struct Layout {
  size_t header_line = 0;
  char separator = ',';
};

// The first line that has all columns asked for; without any, the first that is not empty.
std::optional<Layout> FindLayout(const Text& text, const std::vector<std::string>& columns,
                                 const std::string& delimiter) {
  for (const Line& line : text.lines()) {
    if (Trim(line.text).empty()) continue;
    const char separator = delimiter.empty() ? FindSeparator(line.text) : delimiter[0];
    const std::vector<std::string> cells = CsvCells(line.text, separator);
    const bool all = std::all_of(columns.begin(), columns.end(), [&cells](const std::string& column) {
      return std::find(cells.begin(), cells.end(), column) != cells.end();
    });
    if (all && (!columns.empty() || cells.size() > 1 || !line.text.starts_with("#"))) {
      return Layout{line.number, separator};
    }
  }
  return std::nullopt;
}

// Numbers, absent ones, and at least one number.
bool IsNumeric(const CsvTable& table, size_t column) {
  bool any = false;
  for (const CsvRow& row : table.rows) {
    const NumberKind kind = ReadNumber(row.cells[column]).kind;
    if (kind == NumberKind::kMalformed) return false;
    any = any || kind == NumberKind::kNumber;
  }
  return any;
}

// "bw (MB/s)", "bw [MB/s]": the name and the unit, if it is one.
std::pair<std::string, UnitSpelling> NameAndUnit(std::string_view header) {
  for (const auto& [open, close] : {std::pair{"(", ")"}, std::pair{"[", "]"}}) {
    const auto inside = Between(header, open, close);
    const auto unit = inside ? FindUnit(*inside) : std::nullopt;
    if (unit) return {SnakeCase(header.substr(0, header.find(open))), *unit};
  }
  return {SnakeCase(header), {"1"}};
}

void ReadEveryColumn(const CsvTable& table, const std::vector<std::string>& label_columns, Report& report) {
  std::vector<bool> numeric(table.header.size());
  for (size_t i = 0; i < numeric.size(); ++i) {
    const bool label =
        std::find(label_columns.begin(), label_columns.end(), table.header[i]) != label_columns.end();
    numeric[i] = !label && IsNumeric(table, i);
  }
  for (const CsvRow& row : table.rows) {
    Labels labels;
    for (size_t i = 0; i < numeric.size(); ++i) {
      const std::string& name = table.header[i];
      const bool wanted = label_columns.empty() ||
                          std::find(label_columns.begin(), label_columns.end(), name) != label_columns.end();
      if (!numeric[i] && wanted) labels[SnakeCase(name)] = row.cells[i];
    }
    for (size_t i = 0; i < numeric.size(); ++i) {
      if (!numeric[i]) continue;
      const auto [name, unit] = NameAndUnit(table.header[i]);
      report.AddText({name, unit.unit, BetterOfUnit(unit.unit), unit.scale}, row.cells[i], labels, row.line);
    }
  }
}

void ReadColumns(const CsvTable& table, const std::vector<MetricOption>& metrics,
                 const std::vector<std::string>& label_columns, Report& report) {
  for (const CsvRow& row : table.rows) {
    const auto cell = [&](const std::string& column) { return row.cells[*FindColumn(table, column)]; };
    for (const MetricOption& metric : metrics) {
      const bool here = std::all_of(metric.where.begin(), metric.where.end(), [&](const auto& condition) {
        return cell(condition.first) == condition.second;
      });
      if (!here) continue;
      Labels labels = metric.labels;
      for (const std::string& column : label_columns) labels[SnakeCase(column)] = cell(column);
      const std::string text = cell(metric.source);
      if (!report.AddText({metric.name, metric.unit, metric.better, metric.scale}, text, labels, row.line) &&
          Trim(text).empty()) {
        report.Warning(row.line, Join({"column '", metric.source, "' is empty"}));
      }
    }
  }
}

}  // namespace

std::string CheckCsvOptions(const Options& options) {
  if (StringIn(options, "delimiter").size() > 1) return "option 'delimiter' must be one character";
  return CheckMetricOptions(options, "column", {"where"});
}

void ReadCsv(const Options& options, Report& report) {
  const std::vector<MetricOption> metrics = MetricOptions(options, "column");
  std::vector<std::string> label_columns;
  if (const Json* list = ArrayIn(options, "label_columns"); list != nullptr) {
    for (const Json& column : *list)
      label_columns.push_back(column.is_string() ? column.get<std::string>() : column.dump());
  }
  std::vector<std::string> columns = label_columns;
  for (const MetricOption& metric : metrics) {
    columns.push_back(metric.source);
    for (const auto& [column, value] : metric.where) columns.push_back(column);
  }
  const auto layout = FindLayout(report.text(), columns, StringIn(options, "delimiter"));
  if (!layout && !columns.empty()) {
    return report.Invalid(
        0, Join({"no line is a header with all the columns asked for, such as '", columns[0], "'"}));
  }
  if (!layout) return;
  const CsvTable table = ReadCsvTable(report.text(), layout->header_line, layout->separator, report);
  if (table.rows.empty()) report.Invalid(layout->header_line, "no rows under this header");
  if (metrics.empty()) return ReadEveryColumn(table, label_columns, report);
  const size_t before = report.metrics();
  ReadColumns(table, metrics, label_columns, report);
  if (report.metrics() == before)
    report.Invalid(layout->header_line, "no row has a number in the columns asked for");
}

}  // namespace fleetmark::parse
