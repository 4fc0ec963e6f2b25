#include "plugins/parse/csv_table.h"

#include <algorithm>

namespace fleetmark::parse {
namespace {

// Takes one record from the front of `*rest`, its end of line too.
std::vector<std::string> TakeRecord(std::string_view* rest, char separator, bool* unclosed) {
  std::vector<std::string> cells;
  std::string cell;
  bool was_quoted = false;
  const auto end_cell = [&] {
    cells.push_back(was_quoted ? cell : std::string(Trim(cell)));
    cell.clear();
    was_quoted = false;
  };
  size_t i = 0;
  bool in_quotes = false;
  for (; i < rest->size(); ++i) {
    const char c = (*rest)[i];
    if (in_quotes) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < rest->size() && (*rest)[i + 1] == '"') {
        cell += c;
        ++i;
      } else {
        in_quotes = false;
      }
    } else if (c == '"' && Trim(cell).empty() && !was_quoted) {
      in_quotes = was_quoted = true;
      cell.clear();
    } else if (c == separator && cells.size() < kMaxCsvColumns) {
      end_cell();
    } else if (c == '\n') {
      break;
    } else if (!was_quoted || (c != ' ' && c != '\t')) {
      cell += c;
    }
  }
  end_cell();
  *unclosed = in_quotes;
  rest->remove_prefix(std::min(i + 1, rest->size()));
  return cells;
}

}  // namespace

std::vector<std::string> CsvCells(std::string_view line, char separator) {
  bool unclosed = false;
  return TakeRecord(&line, separator, &unclosed);
}

CsvTable ReadCsvTable(const Text& text, size_t header_line, char separator, Report& report) {
  CsvTable table;
  const std::string_view first = text.LineText(header_line);
  if (first.data() == nullptr) return table;
  const std::string_view all = text.all();
  std::string_view rest = all.substr(static_cast<size_t>(first.data() - all.data()));
  while (!rest.empty()) {
    const size_t line = text.LineNumberAt(all.size() - rest.size());
    bool unclosed = false;
    std::vector<std::string> cells = TakeRecord(&rest, separator, &unclosed);
    if (unclosed) report.Invalid(line, "a quote that does not close");
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (table.header.empty()) {
      table.header = std::move(cells);
    } else if (cells.size() == table.header.size()) {
      if (cells != table.header) table.rows.push_back({line, std::move(cells)});
    } else {
      report.Invalid(line, Join({"a row of ", std::to_string(cells.size()), " cells under a header of ",
                                 std::to_string(table.header.size())}));
    }
  }
  return table;
}

char FindSeparator(std::string_view line) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char candidate : {',', ';', '\t', '|'}) {
    const auto count = std::count(line.begin(), line.end(), candidate);
    if (count > most) {
      most = count;
      best = candidate;
    }
  }
  return best;
}

std::optional<size_t> FindColumn(const CsvTable& table, std::string_view name) {
  const auto found = std::find(table.header.begin(), table.header.end(), name);
  if (found == table.header.end()) return std::nullopt;
  return static_cast<size_t>(found - table.header.begin());
}

}  // namespace fleetmark::parse
