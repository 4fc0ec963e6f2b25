#include "cli/output/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "cli/output/format.h"
#include "cli/output/text.h"

namespace fleetmark::cli {
namespace {

constexpr const char* kGap = "  ";

// The sixteen basic colours only: they follow the terminal's own theme, light or dark.
const char* EscapeOf(Look look) {
  switch (look) {
    case Look::kGood:
      return "\x1b[32m";
    case Look::kBad:
      return "\x1b[31m";
    case Look::kWarn:
      return "\x1b[33m";
    case Look::kDim:
      return "\x1b[2m";
    case Look::kPlain:
      break;
  }
  return "";
}

// A spreadsheet would run a text that begins like a formula; a quote before it makes it text.
std::string CsvField(const std::string& raw) {
  std::string text = raw;
  const bool number = !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (!text.empty() && !number && std::string("=+-@\t\r").find(text[0]) != std::string::npos)
    text = "'" + text;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

Cell TimeCell(int64_t unix_ns, absl::Time now) {
  const std::string absolute = FormatTime(unix_ns);
  return Cell(FormatAge(unix_ns, now), absolute.empty() ? "never" : absolute, absolute);
}
Cell NumberCell(double value) { return Cell(FormatNumber(value), FormatNumber(value), FormatExact(value)); }
Cell CountCell(uint64_t count) { return Cell(std::to_string(count)); }
Cell SecondsCell(double seconds) {
  return Cell(FormatSeconds(seconds), FormatSeconds(seconds), FormatExact(seconds));
}
Cell BytesCell(uint64_t bytes) {
  return Cell(FormatHumanBytes(bytes), FormatHumanBytes(bytes), std::to_string(bytes));
}

std::string Colored(const std::string& text, Look look) {
  return look == Look::kPlain ? text : absl::StrCat(EscapeOf(look), text, "\x1b[0m");
}

void Table::AddRow(std::vector<Cell> cells) {
  for (Cell& cell : cells) {
    cell.text = Printable(cell.text);
    cell.wide = Printable(cell.wide);
  }
  rows_.push_back(std::move(cells));
}

std::string Table::Render(bool wide, bool color) const {
  std::vector<size_t> shown;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (wide || !columns_[c].wide_only) shown.push_back(c);
  }
  const auto text_of = [&](const Cell& cell) -> const std::string& { return wide ? cell.wide : cell.text; };
  std::vector<size_t> widths(columns_.size());
  bool titled = false;
  for (const size_t c : shown) {
    titled |= !columns_[c].title.empty();
    widths[c] = DisplayWidth(columns_[c].title);
    for (const auto& row : rows_) widths[c] = std::max(widths[c], DisplayWidth(text_of(row[c])));
  }
  std::string out;
  const auto append = [&](size_t c, const std::string& text, Look look) {
    const std::string padding(widths[c] - DisplayWidth(text), ' ');
    const std::string shown_text = color ? Colored(text, look) : text;
    const bool last = c == shown.back();
    if (columns_[c].right) {
      absl::StrAppend(&out, padding, shown_text);
    } else {
      absl::StrAppend(&out, shown_text, last ? "" : padding);
    }
    absl::StrAppend(&out, last ? "\n" : kGap);
  };
  if (titled) {
    for (const size_t c : shown) append(c, columns_[c].title, Look::kDim);
  }
  for (const auto& row : rows_) {
    for (const size_t c : shown) append(c, text_of(row[c]), row[c].look);
  }
  return out;
}

std::string Table::RenderCsv() const {
  std::string out;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const std::string name = absl::StrReplaceAll(absl::AsciiStrToLower(columns_[c].title), {{" ", "_"}});
    absl::StrAppend(&out, c == 0 ? "" : ",", CsvField(name));
  }
  out += "\r\n";
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) absl::StrAppend(&out, c == 0 ? "" : ",", CsvField(row[c].exact));
    out += "\r\n";
  }
  return out;
}

}  // namespace fleetmark::cli
