// Graphcore: gc-monitor's tables, gc-info's lines, gc-inventory's JSON, and the throughput that training
// under poprun prints. An IPU's reading is labelled by its number.
#include <re2/re2.h>

#include <algorithm>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

// What a column, a line or a member says of an IPU.
std::optional<MetricKind> KindOf(std::string_view name) {
  const std::string lower = Lower(name);
  if (Contains(lower, "clock")) return MetricKind{"ipu_clock", "MHz", "none"};
  if (Contains(lower, "board temp")) return MetricKind{"board_temperature", "Cel", "none"};
  if (Contains(lower, "temp")) return MetricKind{"ipu_temperature", "Cel", "none"};
  if (Contains(lower, "power"))
    return MetricKind{Contains(lower, "ipu power") ? "ipu_power" : "power", "W", "none"};
  if (Contains(lower, "utili")) return MetricKind{"ipu_utilization", "%", "none"};
  return std::nullopt;
}

// "1330MHz", "24.2 C", "91.8 W", "N/A".
void AddReading(const MetricKind& kind, std::string_view text, const Labels& labels, size_t line,
                Report& report) {
  const Quantity quantity = ReadQuantity(text);
  if (quantity.number.kind == NumberKind::kAbsent) return;
  if (quantity.number.kind == NumberKind::kNotFinite)
    return report.Warning(line, Join({"'", kind.name, "' is not finite"}));
  const auto unit =
      quantity.unit.empty() ? UnitSpelling{kind.unit} : FindUnit(quantity.unit).value_or(UnitSpelling{""});
  const double scale = unit.unit == "GHz" && kind.unit == "MHz" ? 1e3 : unit.scale;
  const bool fits = unit.unit == kind.unit || (unit.unit == "GHz" && kind.unit == "MHz");
  if (quantity.number.kind != NumberKind::kNumber || !fits) {
    return report.Invalid(line, Join({"'", kind.name, "': '", text, "' is not a number in ", kind.unit}));
  }
  report.Add({kind.name, kind.unit, kind.better, scale}, quantity.number.value, labels, line);
}

std::vector<std::string_view> TableCells(std::string_view text) {
  std::vector<std::string_view> cells = Split(text, "|");
  if (cells.size() < 3) return {};
  cells.erase(cells.begin());
  cells.pop_back();
  for (std::string_view& cell : cells) cell = Trim(cell);
  return cells;
}

class MonitorTables {
 public:
  explicit MonitorTables(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) {
      const auto cells = TableCells(Trim(line.text));
      if (cells.empty()) continue;
      seen_ = true;
      if (IsHeader(cells)) {
        header_ = cells;
        columns_ = Columns(cells);
      } else if (!header_.empty() && cells.size() == header_.size()) {
        ReadRow(line, cells);
      } else if (!header_.empty()) {
        if (cells.size() > 3) report_.Invalid(line.number, "a row that does not fit its header");
        header_.clear();
      }
    }
    if (seen_ && report_.metrics() == 0 && !report_.has_problems()) {
      report_.Skipped(0, "no IPU has a reading: no process is attached");
    }
  }

 private:
  static bool IsHeader(const std::vector<std::string_view>& cells) {
    const bool id = std::find(cells.begin(), cells.end(), "ID") != cells.end();
    return id && std::any_of(cells.begin(), cells.end(), [](std::string_view cell) {
             return cell == "Clock" || cell == "Temp" || cell == "Power" || ContainsNoCase(cell, "utili");
           });
  }

  // Of two columns called "Temp" the first is the IPU's, the second its board's.
  static std::vector<std::optional<MetricKind>> Columns(const std::vector<std::string_view>& cells) {
    std::vector<std::optional<MetricKind>> columns;
    size_t temperatures = 0;
    for (const std::string_view cell : cells) {
      auto kind = KindOf(cell);
      if (kind && cell == "Temp" && ++temperatures == 2) kind->name = "board_temperature";
      columns.push_back(kind);
    }
    return columns;
  }

  // A card's second IPU has the card's readings empty.
  void ReadRow(const Line& line, const std::vector<std::string_view>& cells) {
    Labels labels;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (header_[i] == "ID") labels["ipu"] = std::string(cells[i]);
    }
    if (!WholeNumber(labels["ipu"])) return;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (columns_[i]) AddReading(*columns_[i], cells[i], labels, line.number, report_);
    }
  }

  Report& report_;
  std::vector<std::string_view> header_;
  std::vector<std::optional<MetricKind>> columns_;
  bool seen_ = false;
};

// gc-info: "ipu power: 80.1 W", under a line that names the device.
void ReadInfoLines(Report& report) {
  Labels labels;
  for (const Line& line : report.text().lines()) {
    const size_t colon = line.text.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = Trim(line.text.substr(0, colon));
    const std::string_view value = Trim(line.text.substr(colon + 1));
    if (Lower(key) == "device id" || Lower(key) == "id") labels["ipu"] = std::string(value);
    const auto kind = KindOf(key);
    if (kind && !value.empty()) AddReading(*kind, value, labels, line.number, report);
  }
}

// Every object that has an id, at whatever depth.
void ReadInventory(const Json& value, Labels labels, const JsonDocument& document, Report& report) {
  if (value.is_object()) {
    const std::string id = StringIn(value, "id");
    if (!id.empty()) labels["ipu"] = id;
    for (const auto& item : value.items()) {
      const auto kind = KindOf(item.key());
      if (kind && labels.contains("ipu") && !item.value().is_structured()) {
        AddReading(*kind, StringIn(value, item.key()), labels, document.line, report);
      }
    }
  }
  if (!value.is_structured()) return;
  for (const Json& child : value) ReadInventory(child, labels, document, report);
}

// What poprun, or a program under it, says when it fails.
bool IsFailure(std::string_view text) {
  return Contains(text, "poptorch.Error") || Contains(text, "popart_exception") ||
         Contains(text, "poplar_exception") || Contains(text, "mpirun noticed") ||
         Contains(text, "exited on signal") || text.starts_with("Traceback (most recent") ||
         Contains(text, "application_runtime_error") || Contains(text, "Primary job  terminated");
}

}  // namespace

void ReadGcMonitor(const Options&, Report& report) {
  bool table = false;
  for (const Line& line : report.text().lines()) {
    table = table || Trim(line.text).starts_with("|");
    const bool failed = Contains(line.text, "Segmentation fault") || Contains(line.text, "No partition") ||
                        StartsWithNoCase(Trim(line.text), "error");
    if (failed) report.Failed(line.number, "the tool failed");
  }
  if (table) return MonitorTables(report).Read();
  const JsonDocuments found = FindJsonDocuments(report.text());
  for (const JsonError& error : found.errors) report.Invalid(error.line, error.sentence);
  for (const JsonDocument& document : found.documents) ReadInventory(document.value, {}, document, report);
  if (found.documents.empty() && found.errors.empty()) ReadInfoLines(report);
}

// "throughput: 7599.7 samples/sec", with the rank that poprun puts before the line as a label.
void ReadPopdist(const Options&, Report& report) {
  static const RE2 rate(
      R"((?i)\bthroughput(?: \(avg\)|_avg)?\s*[:=]\s*(\S+)(?:\s*([a-z]+/s(?:ec(?:ond)?)?))?)");
  for (const Line& line : report.text().lines()) {
    if (IsFailure(line.text)) report.Failed(line.number, "the training failed");
    std::string value;
    std::string unit_text;
    if (!RE2::PartialMatch(re2::StringPiece(line.text.data(), line.text.size()), rate, &value, &unit_text))
      continue;
    std::string_view number = value;
    while (number.ends_with(",") || number.ends_with(".") || number.ends_with(";")) number.remove_suffix(1);
    // "123.4samples/s" has no space.
    const Quantity quantity = ReadQuantity(number);
    if (unit_text.empty()) unit_text = std::string(quantity.unit);
    const auto unit = unit_text.empty() ? UnitSpelling{"samples/s"} : FindUnit(unit_text);
    if (!unit) {
      report.Invalid(line.number, Join({"the throughput's unit '", unit_text, "' is not known"}));
      continue;
    }
    Labels labels;
    if (line.rank >= 0) labels["rank"] = std::to_string(line.rank);
    const std::string_view text = quantity.number.kind == NumberKind::kNumber && !quantity.unit.empty()
                                      ? number.substr(0, number.size() - quantity.unit.size())
                                      : number;
    report.AddText({"throughput", unit->unit, "higher", unit->scale}, text, labels, line.number);
  }
}

}  // namespace fleetmark::parse
