// Tables: the same rows for people (aligned, with relative times), for people who want everything (wide),
// and for spreadsheets (CSV).
//
// Thread-safety: none; a Table is one thread's.
#ifndef FLEETMARK_CLI_OUTPUT_TABLE_H_
#define FLEETMARK_CLI_OUTPUT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace fleetmark::cli {

// How a cell looks on a terminal with colours. Never the only carrier of a meaning.
enum class Look { kPlain, kGood, kBad, kWarn, kDim };

// One value in its three forms.
struct Cell {
  std::string text;   // for the table
  std::string wide;   // for the wide table
  std::string exact;  // for CSV
  Look look = Look::kPlain;

  Cell(std::string same, Look l = Look::kPlain) : text(same), wide(same), exact(std::move(same)), look(l) {}
  Cell(const char* same) : Cell(std::string(same)) {}
  Cell(std::string t, std::string w, std::string e)
      : text(std::move(t)), wide(std::move(w)), exact(std::move(e)) {}
};

Cell TimeCell(int64_t unix_ns, absl::Time now);
Cell NumberCell(double value);
Cell CountCell(uint64_t count);
Cell SecondsCell(double seconds);
Cell BytesCell(uint64_t bytes);

struct Column {
  std::string title;
  bool right = false;      // numbers
  bool wide_only = false;  // left out of the plain table
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns.
  void AddRow(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // Ends with a newline. The last column is not padded.
  std::string Render(bool wide, bool color) const;

  // RFC 4180, with a header line in lower case and all columns.
  std::string RenderCsv() const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// `text` in the colours of `look`.
std::string Colored(const std::string& text, Look look);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_OUTPUT_TABLE_H_
