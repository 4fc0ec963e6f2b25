// nvidia-smi --query-gpu=... --format=csv, with units in the header and the cells or without. A query of
// compute processes is read likewise.
#include <algorithm>
#include <array>

#include "plugins/parse/csv_table.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

constexpr std::array<std::string_view, 9> kLabelColumns = {
    "index", "uuid", "name", "gpu_name", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "pid"};

bool IsLabel(std::string_view column) {
  return std::find(kLabelColumns.begin(), kLabelColumns.end(), column) != kLabelColumns.end();
}

// The tool failed to read it, other than by not supporting it.
bool IsError(std::string_view cell) {
  return ContainsNoCase(cell, "ERR!") || ContainsNoCase(cell, "Unknown Error") ||
         ContainsNoCase(cell, "requires reset") || ContainsNoCase(cell, "GPU is lost");
}

// Units that the query's columns have where nothing says them (nounits leaves them in the header).
UnitSpelling UnitOfColumn(std::string_view column) {
  if (column.starts_with("temperature.")) return {"Cel"};
  if (column.starts_with("utilization.") || column == "fan.speed") return {"%"};
  if (column.starts_with("memory.") || column.starts_with("fb_memory")) return {"MiB"};
  if (column.starts_with("clocks.")) return {"MHz"};
  if (column.starts_with("power.") || column.ends_with("power.limit")) return {"W"};
  if (column.starts_with("ecc.") || column.starts_with("retired_pages")) return {"count"};
  return {"1"};
}

std::string_view BetterOfColumn(std::string_view column) {
  return column.starts_with("ecc.errors") || column.starts_with("retired_pages") ? "lower" : "none";
}

struct Column {
  std::string name;
  std::optional<UnitSpelling> unit;
  bool units_in_cells = false;
};

Column ColumnOf(std::string_view header) {
  const auto unit = Between(header, "[", "]");
  return {std::string(Trim(header.substr(0, header.find('[')))), unit ? FindUnit(*unit) : std::nullopt,
          false};
}

class GpuTable {
 public:
  GpuTable(const CsvTable& table, Report& report) : table_(table), report_(report) {
    for (const std::string& header : table.header) columns_.push_back(ColumnOf(header));
  }

  void Read() {
    FindUnitsInCells();
    for (const CsvRow& row : table_.rows) {
      Labels labels;
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (!IsLabel(columns_[i].name)) continue;
        labels[columns_[i].name == "index" ? "gpu" : columns_[i].name] = row.cells[i];
      }
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (!IsLabel(columns_[i].name)) ReadCell(columns_[i], row.cells[i], labels, row.line);
      }
    }
  }

 private:
  // Whether a column's cells state their unit: then one that does not is cut off, or something else.
  void FindUnitsInCells() {
    for (size_t i = 0; i < columns_.size(); ++i) {
      for (const CsvRow& row : table_.rows) {
        const Quantity quantity = ReadQuantity(row.cells[i]);
        const bool stated = quantity.number.kind == NumberKind::kNumber && FindUnit(quantity.unit);
        columns_[i].units_in_cells = columns_[i].units_in_cells || stated;
      }
    }
  }

  // Text ("P0", "Enabled", "0x0000000000000001", times) is not a reading.
  void ReadCell(const Column& column, std::string_view cell, const Labels& labels, size_t line) {
    if (IsError(cell)) return report_.Failed(line, Join({"'", column.name, "' can't be read: ", cell}));
    if (column.name == "timestamp" || column.name.ends_with("version")) return;
    const Quantity quantity = ReadQuantity(cell);
    if (quantity.number.kind == NumberKind::kNotFinite)
      return report_.Warning(line, Join({"'", column.name, "' is not finite"}));
    if (quantity.number.kind != NumberKind::kNumber) return ReadText(column, cell, quantity, line);
    const auto written = FindUnit(quantity.unit);
    if (!quantity.unit.empty() && !written) return ReadText(column, cell, {}, line);
    if (quantity.unit.empty() && column.units_in_cells) {
      return report_.Invalid(line,
                             Join({"'", column.name, "': '", cell, "' has no unit, as other rows have"}));
    }
    const UnitSpelling unit = written ? *written : column.unit.value_or(UnitOfColumn(column.name));
    report_.Add({column.name, unit.unit, BetterOfColumn(column.name), unit.scale}, quantity.number.value,
                labels, line);
  }

  // In a column that states a unit, text is an error.
  void ReadText(const Column& column, std::string_view cell, const Quantity& quantity, size_t line) {
    if (quantity.number.kind == NumberKind::kAbsent || !column.unit) return;
    if (cell.starts_with("[") && cell.ends_with("]")) return;  // "[Not Supported]" in one of its forms
    report_.Invalid(line, Join({"'", column.name, "': '", cell, "' is not a number"}));
  }

  const CsvTable& table_;
  Report& report_;
  std::vector<Column> columns_;
};

bool IsHeader(std::string_view line) {
  const std::vector<std::string> cells = CsvCells(line, ',');
  return std::all_of(cells.begin(), cells.end(), [](std::string_view cell) {
    return !cell.empty() && cell[0] >= 'a' && cell[0] <= 'z' &&
           cell.substr(0, cell.find(" [")).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._") ==
               std::string_view::npos;
  });
}

}  // namespace

void ReadNvidiaSmi(const Options&, Report& report) {
  for (const Line& line : report.text().lines()) {
    const bool failed =
        Contains(line.text, "NVIDIA-SMI has failed") || Contains(line.text, "No devices were found") ||
        Contains(line.text, "Unable to determine the device handle") ||
        Contains(line.text, "Failed to initialize NVML") || Contains(line.text, "is not a valid field");
    if (failed) report.Failed(line.number, "nvidia-smi failed");
  }
  for (const Line& line : report.text().lines()) {
    if (Trim(line.text).empty() || !IsHeader(Trim(line.text))) continue;
    const CsvTable table = ReadCsvTable(report.text(), line.number, ',', report);
    if (table.rows.empty()) report.Invalid(line.number, "no GPU under this header");
    return GpuTable(table, report).Read();
  }
  if (!report.failed()) report.Invalid(0, "there is no header of column names; noheader can't be read");
}

}  // namespace fleetmark::parse
