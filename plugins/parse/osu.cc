// OSU micro-benchmarks, 5.x to 7.x: point to point, collectives, multiple pairs, start-up. The columns come
// from the header line; MB is 10^6 bytes.

#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

struct Column {
  std::string name;  // in snake case; "size", "validation" and "iterations" are special
  UnitSpelling unit = {"1"};
  std::string_view better = "none";
};

// Two or more spaces stand between columns, one may stand within a name.
std::vector<std::string_view> Cells(std::string_view text) {
  std::vector<std::string_view> cells;
  for (const std::string_view part : Split(text, "  ")) {
    for (const std::string_view piece : Split(part, "\t")) {
      if (!Trim(piece).empty()) cells.push_back(Trim(piece));
    }
  }
  return cells;
}

std::optional<Column> ColumnOf(std::string_view cell) {
  if (cell == "MB/s" || cell == "GB/s") return Column{"bandwidth", *FindUnit(cell), "higher"};
  if (cell == "Messages/s") return Column{"message_rate", {"1/s"}, "higher"};
  if (cell == "Size") return Column{"size"};
  if (StartsWithNoCase(cell, "Validation")) return Column{"validation"};
  if (StartsWithNoCase(cell, "Iteration")) return Column{"iterations"};
  const auto unit_text = Between(cell, "(", ")");
  if (!unit_text) return std::nullopt;
  const auto unit = FindUnit(*unit_text);
  if (!unit) return std::nullopt;
  const std::string name = SnakeCase(cell.substr(0, cell.find('(')));
  const std::string_view better = name == "overlap" ? "higher" : BetterOfUnit(unit->unit);
  return Column{name, *unit, better};
}

std::vector<Column> HeaderOf(std::string_view text) {
  std::vector<Column> columns;
  for (const std::string_view cell : Cells(text)) {
    auto column = ColumnOf(cell);
    if (!column) return {};
    columns.push_back(*std::move(column));
  }
  return columns;
}

class OsuReader {
 public:
  explicit OsuReader(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) {
      const std::string_view text = Trim(line.text);
      if (text.empty()) continue;
      if (text[0] == '#') {
        ReadComment(line, Trim(text.substr(1)));
      } else if (text.starts_with("nprocs:")) {
        ReadInit(line, text);
      } else if (!columns_.empty()) {
        ReadRow(line, Words(text));
      }
      if (ContainsNoCase(text, "validation error") || ContainsNoCase(text, "DATA VALIDATION ERROR")) {
        report_.Invalid(line.number, "the data are wrong");
      }
      if (Contains(text, "MPI_ABORT") || Contains(text, "Fatal error in"))
        report_.Failed(line.number, "MPI failed");
    }
    EndTable();
  }

 private:
  void ReadComment(const Line& line, std::string_view text) {
    if (const auto name = Between(text, "OSU ", " Test")) {
      EndTable();
      labels_ = {{"test", std::string(Trim(*name))}};
    } else if (const auto pairs = Between(text, "[ pairs:", "]")) {
      labels_["pairs"] = std::string(Trim(*pairs));
    } else if (auto columns = HeaderOf(text); !columns.empty()) {
      EndTable();
      columns_ = std::move(columns);
      header_line_ = line.number;
    }
  }

  void ReadRow(const Line& line, const std::vector<std::string_view>& words) {
    if (ReadNumber(words[0]).kind != NumberKind::kNumber) return;  // a message in the table
    if (words.size() != columns_.size()) {
      return report_.Invalid(line.number,
                             Join({"a row of ", std::to_string(words.size()), " columns under a header of ",
                                   std::to_string(columns_.size())}));
    }
    // OSU writes two decimals and columns of a fixed width: a last line without its end that has less is cut
    // off within its last number.
    const bool short_number = columns_.back().unit.unit != "1" && Decimals(words.back()) < 2;
    if (report_.text().MayBeCut(line) && (line.text.size() < row_size_ || short_number)) {
      return report_.Invalid(line.number, "the output is cut off in this row");
    }
    row_size_ = line.text.size();
    has_rows_ = true;
    Labels labels = labels_;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (column.name == "size") {
        if (!WholeNumber(words[i])) return report_.Invalid(line.number, "the size is not a whole number");
        labels["size"] = std::string(words[i]);
      } else if (column.name == "validation") {
        if (!StartsWithNoCase(words[i], "pass") && words[i] != "-")
          report_.Invalid(line.number, "validation failed");
      } else if (column.name != "iterations") {
        report_.AddText({column.name, column.unit.unit, column.better, column.unit.scale}, words[i], labels,
                        line.number);
      }
    }
  }

  // osu_init: "nprocs: 4, min: 101 ms, max: 120 ms, avg: 110 ms".
  void ReadInit(const Line& line, std::string_view text) {
    for (const std::string_view part : Split(text, ",")) {
      const auto value = After(part, ":");
      const std::string name = SnakeCase(Trim(part.substr(0, part.find(':'))));
      if (!value || name == "nprocs") continue;
      const Quantity quantity = ReadQuantity(*value);
      const auto unit = FindUnit(quantity.unit);
      if (quantity.number.kind != NumberKind::kNumber || !unit) {
        report_.Invalid(line.number, Join({"'", name, "' is not a time"}));
        continue;
      }
      const std::string metric = Join({"init_time_", name});
      report_.Add({metric, unit->unit, "lower"}, quantity.number.value, labels_, line.number);
    }
  }

  void EndTable() {
    if (!columns_.empty() && !has_rows_)
      report_.Invalid(header_line_, "the output is cut off: no rows under this header");
    columns_.clear();
    has_rows_ = false;
    row_size_ = 0;
  }

  Report& report_;
  Labels labels_;
  std::vector<Column> columns_;
  size_t header_line_ = 0;
  size_t row_size_ = 0;  // of the row before
  bool has_rows_ = false;
};

}  // namespace

void ReadOsu(const Options&, Report& report) { OsuReader(report).Read(); }

}  // namespace fleetmark::parse
