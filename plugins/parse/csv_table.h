// Tables of separated values (RFC 4180: a cell in double quotes may hold the separator, newlines and doubled
// quotes), with line numbers.
//
// Thread-safety: functions without state. Bounds: kMaxCsvColumns; what is longer is an error.
#ifndef FLEETMARK_PLUGINS_PARSE_CSV_TABLE_H_
#define FLEETMARK_PLUGINS_PARSE_CSV_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "plugins/parse/parsed_output.h"

namespace fleetmark::parse {

inline constexpr size_t kMaxCsvColumns = 1000;

struct CsvRow {
  size_t line = 0;
  std::vector<std::string> cells;  // without white space around; as many as the header has
};

struct CsvTable {
  std::vector<std::string> header;
  std::vector<CsvRow> rows;
};

// From the line `header_line` on. Empty lines and the header repeated are passed over; a row with another
// number of cells goes to `report` as invalid.
CsvTable ReadCsvTable(const Text& text, size_t header_line, char separator, Report& report);

// The cells of one line, which must hold no newline within quotes.
std::vector<std::string> CsvCells(std::string_view line, char separator);

// Which of , ; tab | separates most cells of the line; ',' if none is there.
char FindSeparator(std::string_view line);

std::optional<size_t> FindColumn(const CsvTable& table, std::string_view name);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_CSV_TABLE_H_
