// nccl-tests and rccl-tests (all_reduce_perf and so on): the table of every version, driven by its header,
// and the JSON of -J. The formats are described from nccl-tests 2.0 to 2.19.
#include <array>
#include <cmath>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

constexpr MetricKind kTime = {"time", "us", "lower"};
constexpr MetricKind kAlgorithm = {"algbw", "GB/s", "higher"};
constexpr MetricKind kBus = {"busbw", "GB/s", "higher"};
constexpr MetricKind kWrong = {"wrong_total", "count", "lower"};
constexpr MetricKind kAverage = {"avg_busbw", "GB/s", "higher"};

struct Column {
  std::string name;   // as in the header
  std::string place;  // out_of_place, in_place, or empty for what describes the row
};

class TableReader {
 public:
  explicit TableReader(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) {
      const std::string_view text = Trim(line.text);
      if (text.empty()) continue;
      if (text[0] == '#') {
        ReadComment(line, text);
      } else if (!columns_.empty()) {
        ReadRow(line, Words(text));
      }
      if (IsFailure(text)) report_.Failed(line.number, "the tool failed");
    }
    EndTable();
  }

 private:
  static bool IsFailure(std::string_view text) {
    return Contains(text, "Test NCCL failure") || Contains(text, "Test CUDA failure") ||
           Contains(text, "Test failure") || Contains(text, "Test HIP failure");
  }

  void ReadComment(const Line& line, std::string_view text) {
    text = Trim(text.substr(1));
    if (const auto name = After(text, "Collective test starting:")) {
      EndTable();
      collective_ = std::string(Trim(*name));
    }
    const std::vector<std::string_view> words = Words(text);
    if (words.size() > 3 && words[0] == "size" && words[1] == "count") {
      // The header again of the same table, or a new table without a name.
      if (has_rows_ || saw_average_) EndTable();
      ReadHeader(words);
      header_line_ = line.number;
    }
    if (StartsWithNoCase(text, "Out of bounds values")) ReadOutOfBounds(line, text);
    if (StartsWithNoCase(text, "Avg bus bandwidth")) ReadAverage(line, text);
  }

  void ReadHeader(const std::vector<std::string_view>& words) {
    columns_.clear();
    size_t times = 0;
    for (const std::string_view word : words) {
      if (word == "time" || word == "cputime") ++times;
      const bool row = times == 0 || word == "timestamp";
      columns_.push_back({std::string(word), row ? "" : times == 1 ? "out_of_place" : "in_place"});
    }
  }

  // 2.12 and older leave out redop and root where they don't apply, in the header as in the rows.
  void ReadRow(const Line& line, const std::vector<std::string_view>& words) {
    if (!WholeNumber(words[0])) return;  // a message of NCCL or of a launcher
    const size_t optional = columns_.back().name == "timestamp" ? 1 : 0;
    if (words.size() + optional < columns_.size() ||
        (words.size() > columns_.size() && !(optional == 1 && words.size() <= columns_.size() + 1))) {
      if (words.size() > 1 && !WholeNumber(words[1])) return;
      return report_.Invalid(line.number,
                             Join({"a row of ", std::to_string(words.size()), " columns under a header of ",
                                   std::to_string(columns_.size())}));
    }
    has_rows_ = true;
    Labels labels;
    for (size_t i = 0; i < columns_.size() && i < words.size(); ++i) {
      const Column& column = columns_[i];
      if (column.place.empty()) {
        const bool label =
            column.name == "size" || column.name == "type" || column.name == "redop" || column.name == "root";
        if (label && words[i] != "none" && words[i] != "-1") labels[column.name] = std::string(words[i]);
      } else {
        ReadCell(column, words[i], labels, line.number);
      }
    }
  }

  void ReadCell(const Column& column, std::string_view cell, Labels labels, size_t line) {
    if (!collective_.empty()) labels["collective"] = collective_;
    labels["place"] = column.place;
    if (column.name == "time") report_.AddText(kTime, cell, labels, line);
    if (column.name == "cputime") report_.AddText({"cputime", "us", "lower"}, cell, labels, line);
    if (column.name == "algbw") report_.AddText(kAlgorithm, cell, labels, line);
    if (column.name == "busbw" && report_.AddText(kBus, cell, labels, line)) {
      bus_sum_ += *FiniteNumber(cell);
      ++bus_bandwidths_;
    }
    if (column.name == "i_min") report_.AddText({"time_min", "us", "lower"}, cell, labels, line);
    if (column.name == "i_max") report_.AddText({"time_max", "us", "lower"}, cell, labels, line);
    if (column.name == "i_p99") report_.AddText({"time_p99", "us", "lower"}, cell, labels, line);
    if (column.name == "#wrong") ReadWrong(cell, line);
    if (column.name == "error") ReadError(cell, line);
  }

  void ReadWrong(std::string_view cell, size_t line) {
    const Number wrong = ReadNumber(cell);
    if (wrong.kind == NumberKind::kMalformed) report_.Invalid(line, "'#wrong' is not a number");
    if (wrong.kind == NumberKind::kNumber && wrong.value > 0)
      report_.Invalid(line, "wrong values in the result");
  }
  // The largest error found, as a float; the verdict is in the footer.
  void ReadError(std::string_view cell, size_t line) {
    const NumberKind kind = ReadNumber(cell).kind;
    if (kind == NumberKind::kMalformed) report_.Invalid(line, "'error' is not a number");
    if (kind == NumberKind::kNotFinite) report_.Invalid(line, "the error of the result is not finite");
  }

  void ReadOutOfBounds(const Line& line, std::string_view text) {
    saw_bounds_ = true;
    const auto rest = After(text, ":");
    const auto words = Words(rest.value_or(""));
    const auto count = words.empty() ? std::nullopt : WholeNumber(words[0]);
    if (!count) return report_.Invalid(line.number, "no count of values out of bounds");
    report_.Add(kWrong, static_cast<double>(*count), CollectiveLabel(), line.number);
    if (*count > 0 || Contains(*rest, "FAILED")) report_.Invalid(line.number, "values are out of bounds");
  }

  void ReadAverage(const Line& line, std::string_view text) {
    saw_average_ = true;
    const auto words = Words(After(text, ":").value_or(""));
    if (words.empty()) return report_.Invalid(line.number, "no average bus bandwidth");
    if (report_.text().MayBeCut(line) && words.size() == 1 && !IsAverage(words[0])) {
      return report_.Invalid(line.number, "the output is cut off: this is not the average of the rows above");
    }
    report_.AddText(kAverage, words[0], CollectiveLabel(), line.number);
    if (Contains(text, "FAILED")) report_.Invalid(line.number, "the average is below what was asked for");
  }

  // Of the rows' bus bandwidths, which are rounded to two decimals.
  bool IsAverage(std::string_view text) const {
    const auto value = FiniteNumber(text);
    if (!value || bus_bandwidths_ == 0) return value.has_value();
    const double mean = bus_sum_ / static_cast<double>(bus_bandwidths_);
    return std::abs(*value - mean) <= 0.005 + 0.001 * std::abs(mean);
  }

  Labels CollectiveLabel() const {
    return collective_.empty() ? Labels{} : Labels{{"collective", collective_}};
  }

  // A table without its last lines is cut off.
  void EndTable() {
    if (!columns_.empty() && !saw_average_) {
      report_.Invalid(header_line_, "the output is cut off: this table has no 'Avg bus bandwidth' after it");
    } else if (!columns_.empty() && !saw_bounds_) {
      report_.Invalid(header_line_, "this table has no 'Out of bounds values' after it");
    } else if (!columns_.empty() && !has_rows_) {
      report_.Invalid(header_line_, "this table has no rows");
    }
    columns_.clear();
    has_rows_ = saw_average_ = saw_bounds_ = false;
    bus_sum_ = 0;
    bus_bandwidths_ = 0;
  }

  Report& report_;
  std::string collective_;
  std::vector<Column> columns_;
  size_t header_line_ = 0;
  double bus_sum_ = 0;
  size_t bus_bandwidths_ = 0;
  bool has_rows_ = false;
  bool saw_bounds_ = false;
  bool saw_average_ = false;
};

// Strings where JSON has booleans: "true", "false", "unchecked".
bool SaysNo(const Json& object, std::string_view key) { return StringIn(object, key) == "false"; }

void ReadJsonPlace(const Json& result, const char* place, Labels labels, const JsonDocument& document,
                   Report& report) {
  const Json* values = ObjectIn(result, place);
  if (values == nullptr) return;
  labels["place"] = place;
  AddMember(kTime, *values, "time", labels, document, report);
  AddMember(kAlgorithm, *values, "alg_bw", labels, document, report);
  AddMember(kBus, *values, "bus_bw", labels, document, report);
  if (NumberIn(*values, "nwrong").value_or(0) > 0) {
    report.Invalid(document.line, Join({"wrong values in the result of size ", labels["size"]}));
  }
}

void ReadJsonDocument(const JsonDocument& document, Report& report) {
  const Json& json = document.value;
  const Json* results = ArrayIn(json, "results");
  if (results == nullptr) return report.Invalid(document.line, "this JSON has no 'results'");
  for (const Json& result : *results) {
    Labels labels;
    for (const char* key : {"size", "type", "redop", "root"}) {
      const std::string text(Trim(StringIn(result, key)));
      if (text != "none" && text != "-1") labels[key] = text;
    }
    ReadJsonPlace(result, "out_of_place", labels, document, report);
    ReadJsonPlace(result, "in_place", labels, document, report);
  }
  const Json* bounds = ObjectIn(json, "out_of_bounds");
  if (bounds == nullptr) {
    report.Invalid(document.line, "this JSON has no 'out_of_bounds'");
  } else {
    AddMember(kWrong, *bounds, "count", {}, document, report);
  }
  if (bounds != nullptr && (SaysNo(*bounds, "okay") || NumberIn(*bounds, "count").value_or(0) > 0)) {
    report.Invalid(document.line, Join({"values are out of bounds: ", ShownJson(*bounds)}));
  }
  for (const auto& [average_key, key] :
       {std::pair{"average_bus_bandwidth", "bandwidth"}, std::pair{"average_bus_bandwidith", "bandwidith"}}) {
    const Json* average = ObjectIn(json, average_key);
    if (average == nullptr) continue;
    AddMember(kAverage, *average, Member(*average, key) == nullptr ? "bandwidth" : key, {}, document, report);
    if (SaysNo(*average, "okay")) report.Invalid(document.line, "the average is below what was asked for");
  }
}

bool IsTable(const Text& text) {
  for (const Line& line : text.lines()) {
    const auto words = Words(line.text);
    if (words.size() > 4 && words[0] == "#" && words[1] == "size" && words[2] == "count") return true;
    if (StartsWithNoCase(Trim(line.text), "# nccl-tests version") ||
        Contains(line.text, "Test NCCL failure")) {
      return true;
    }
  }
  return false;
}

}  // namespace

void ReadNcclTests(const Options&, Report& report) {
  if (IsTable(report.text())) return TableReader(report).Read();
  report.HideLines();  // they hold the tool's environment with its secrets
  for (const JsonDocument& document : ReadJsonDocuments(report.text(), "nor a table of nccl-tests", report)) {
    ReadJsonDocument(document, report);
  }
}

}  // namespace fleetmark::parse
