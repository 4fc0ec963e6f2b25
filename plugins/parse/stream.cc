// STREAM (5.x) and BabelStream (1 to 6): the bandwidth of each kernel, and whether the arrays validated. MB
// is 10^6 bytes unless the header says MiB.
#include <algorithm>
#include <array>

#include "plugins/parse/csv_table.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

constexpr std::array<std::string_view, 9> kKernels = {"copy", "scale", "mul",     "add",  "triad",
                                                      "dot",  "fill",  "nstream", "daxpy"};

bool IsKernel(std::string_view name) {
  return std::find(kKernels.begin(), kKernels.end(), Lower(name)) != kKernels.end();
}

// "Best Rate MB/s", "Rate (MB/s)", "MBytes/sec", "GiB/s": the first word of the header that is a rate.
std::optional<UnitSpelling> RateUnit(std::string_view header) {
  for (std::string_view word : Words(header)) {
    if (word.starts_with("(") && word.ends_with(")")) word = word.substr(1, word.size() - 2);
    const auto unit = FindUnit(word);
    if (unit && unit->unit.ends_with("B/s")) return unit;
  }
  return std::nullopt;
}

bool IsValidationFailure(std::string_view text) {
  return ContainsNoCase(text, "failed validation") || ContainsNoCase(text, "validation failed") ||
         ContainsNoCase(text, "validation error") || ContainsNoCase(text, "Validation FAILED");
}

class StreamReader {
 public:
  explicit StreamReader(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) ReadLine(line, Trim(line.text));
    if (report_.metrics() == 0 || failed_) return;
    if (!validated_) report_.Invalid(0, "the output is cut off: it does not say 'Solution Validates'");
    if (!seen_triad_) report_.Invalid(0, "the output has no result of Triad");
  }

 private:
  void ReadLine(const Line& line, std::string_view text) {
    if (text.starts_with("Function")) {
      unit_ = RateUnit(text);
      if (!unit_) report_.Invalid(line.number, "the header names no unit");
      rms_ = Contains(text, "RMS");
    } else if (const size_t colon = text.find(':');
               colon != std::string_view::npos && IsKernel(text.substr(0, colon))) {
      ReadKernel(line, text.substr(0, colon), Words(text.substr(colon + 1)));
    } else if (Contains(text, "Solution Validates")) {
      validated_ = true;
    } else if (IsValidationFailure(text)) {
      failed_ = true;
      report_.Invalid(line.number, "the arrays are wrong");
    } else if (text.starts_with("Number of Threads counted")) {
      report_.AddText({"threads", "count", "none"}, Trim(After(text, "=").value_or("")), {}, line.number);
    } else if (text.starts_with("Array size") && Contains(text, "=")) {
      const auto words = Words(*After(text, "="));
      if (!words.empty() && WholeNumber(words[0])) labels_["array_size"] = std::string(words[0]);
    }
  }

  void ReadKernel(const Line& line, std::string_view kernel, const std::vector<std::string_view>& words) {
    if (!unit_) return report_.Invalid(line.number, "a result before its header");
    if (words.size() != 4) return report_.Invalid(line.number, "a result that has not four numbers");
    Labels labels = labels_;
    labels["kernel"] = Lower(kernel);
    seen_triad_ = seen_triad_ || labels["kernel"] == "triad";
    report_.AddText({"bandwidth", unit_->unit, "higher", unit_->scale}, words[0], labels, line.number);
    report_.AddText({rms_ ? "time_rms" : "time_avg", "s", "lower"}, words[1], labels, line.number);
    report_.AddText({"time_min", "s", "lower"}, words[2], labels, line.number);
    report_.AddText({"time_max", "s", "lower"}, words[3], labels, line.number);
  }

  Report& report_;
  Labels labels_;
  std::optional<UnitSpelling> unit_;
  bool rms_ = false;
  bool validated_ = false;
  bool failed_ = false;
  bool seen_triad_ = false;
};

// "max_mbytes_per_sec", "max_MiB_per_sec".
std::optional<UnitSpelling> CsvRateUnit(std::string_view column) {
  const auto unit = Between(column, "max_", "_per_sec");
  return unit ? FindUnit(Join({*unit, "/s"})) : std::nullopt;
}

void ReadBabelCsv(const CsvTable& table, Report& report) {
  for (const CsvRow& row : table.rows) {
    Labels labels;
    for (size_t i = 0; i < table.header.size(); ++i) {
      if (table.header[i] == "function") labels["kernel"] = Lower(row.cells[i]);
      if (table.header[i] == "n_elements") labels["array_size"] = row.cells[i];
    }
    for (size_t i = 0; i < table.header.size(); ++i) {
      const std::string& name = table.header[i];
      if (const auto unit = CsvRateUnit(name)) {
        report.AddText({"bandwidth", unit->unit, "higher", unit->scale}, row.cells[i], labels, row.line);
      }
      if (name == "min_runtime") report.AddText({"time_min", "s", "lower"}, row.cells[i], labels, row.line);
      if (name == "max_runtime") report.AddText({"time_max", "s", "lower"}, row.cells[i], labels, row.line);
      if (name == "avg_runtime") report.AddText({"time_avg", "s", "lower"}, row.cells[i], labels, row.line);
    }
  }
}

void ReadBabelTable(Report& report) {
  std::optional<UnitSpelling> unit;
  for (const Line& line : report.text().lines()) {
    const auto words = Words(line.text);
    if (words.empty()) continue;
    if (words[0] == "Function") {
      unit = RateUnit(line.text);
      if (!unit) report.Invalid(line.number, "the header names no unit");
    } else if (unit && IsKernel(words[0])) {
      if (words.size() != 5) {
        report.Invalid(line.number, "a result that has not four numbers");
        continue;
      }
      const Labels labels = {{"kernel", Lower(words[0])}};
      report.AddText({"bandwidth", unit->unit, "higher", unit->scale}, words[1], labels, line.number);
      report.AddText({"time_min", "s", "lower"}, words[2], labels, line.number);
      report.AddText({"time_max", "s", "lower"}, words[3], labels, line.number);
      report.AddText({"time_avg", "s", "lower"}, words[4], labels, line.number);
    }
  }
}

}  // namespace

void ReadStream(const Options&, Report& report) { StreamReader(report).Read(); }

void ReadBabelStream(const Options&, Report& report) {
  size_t csv_line = 0;
  for (const Line& line : report.text().lines()) {
    if (IsValidationFailure(line.text)) report.Invalid(line.number, "the arrays are wrong");
    if (Contains(line.text, "Error:") || Contains(line.text, "error: "))
      report.Failed(line.number, "BabelStream failed");
    if (csv_line == 0 && Contains(line.text, "function,") && Contains(line.text, "_per_sec"))
      csv_line = line.number;
  }
  if (csv_line == 0) return ReadBabelTable(report);
  ReadBabelCsv(ReadCsvTable(report.text(), csv_line, ',', report), report);
}

}  // namespace fleetmark::parse
