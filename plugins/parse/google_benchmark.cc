// Google Benchmark: JSON (--benchmark_format=json), the console's table, CSV.
#include <algorithm>
#include <array>

#include "plugins/parse/csv_table.h"
#include "plugins/parse/json_documents.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

// Members that are not the user's counters.
constexpr std::array<std::string_view, 18> kOwnMembers = {"name",
                                                          "run_name",
                                                          "run_type",
                                                          "family_index",
                                                          "per_family_instance_index",
                                                          "repetitions",
                                                          "repetition_index",
                                                          "threads",
                                                          "iterations",
                                                          "real_time",
                                                          "cpu_time",
                                                          "time_unit",
                                                          "aggregate_name",
                                                          "aggregate_unit",
                                                          "label",
                                                          "bytes_per_second",
                                                          "items_per_second",
                                                          "error_occurred"};

bool IsOwn(std::string_view member) {
  return std::find(kOwnMembers.begin(), kOwnMembers.end(), member) != kOwnMembers.end();
}

class EntryReader {
 public:
  EntryReader(const JsonDocument& document, Report& report) : document_(document), report_(report) {}

  void Read(const Json& entry) {
    const std::string name = StringIn(entry, "name");
    if (StringIn(entry, "error_occurred") == "true") {
      return report_.Failed(document_.line,
                            Join({"benchmark '", name, "': ", StringIn(entry, "error_message")}));
    }
    if (StringIn(entry, "skipped") == "true") {
      return report_.Warning(document_.line,
                             Join({"benchmark '", name, "' was skipped: ", StringIn(entry, "skip_message")}));
    }
    // Complexity fits are coefficients, not times.
    if (Member(entry, "big_o") != nullptr || Member(entry, "rms") != nullptr) return;
    const std::string aggregate = StringIn(entry, "aggregate_name");
    const std::string run_name = StringIn(entry, "run_name");
    labels_ = {{"benchmark", run_name.empty() ? name : run_name}};
    if (!aggregate.empty()) labels_["aggregate"] = aggregate;
    if (const std::string label = StringIn(entry, "label"); !label.empty()) labels_["label"] = label;
    const bool percentage = StringIn(entry, "aggregate_unit") == "percentage" || aggregate == "cv";
    percentage ? ReadRelative(entry) : ReadTimes(entry);
  }

 private:
  void ReadTimes(const Json& entry) {
    const auto unit = FindUnit(StringIn(entry, "time_unit"));
    if (!unit)
      return report_.Invalid(document_.line, Join({"a benchmark without time_unit: ", ShownJson(entry)}));
    AddMember({"real_time", unit->unit, "lower"}, entry, "real_time", labels_, document_, report_);
    AddMember({"cpu_time", unit->unit, "lower"}, entry, "cpu_time", labels_, document_, report_);
    AddMember({"bytes_per_second", "B/s", "higher"}, entry, "bytes_per_second", labels_, document_, report_);
    AddMember({"items_per_second", "1/s", "higher"}, entry, "items_per_second", labels_, document_, report_);
    for (const auto& item : entry.items()) {
      if (IsOwn(item.key()) || !item.value().is_number()) continue;
      AddMember({item.key(), "1", "none"}, entry, item.key(), labels_, document_, report_);
    }
  }
  // A coefficient of variation, as a fraction.
  void ReadRelative(const Json& entry) {
    AddMember({"real_time_cv", "1", "lower"}, entry, "real_time", labels_, document_, report_);
    AddMember({"cpu_time_cv", "1", "lower"}, entry, "cpu_time", labels_, document_, report_);
  }

  const JsonDocument& document_;
  Report& report_;
  Labels labels_;
};

void ReadDocument(const JsonDocument& document, Report& report) {
  const Json* entries = ArrayIn(document.value, "benchmarks");
  if (entries == nullptr) return report.Invalid(document.line, "this JSON has no 'benchmarks'");
  const Json* context = ObjectIn(document.value, "context");
  if (context != nullptr && StringIn(*context, "library_build_type") == "debug") {
    report.Warning(document.line, "the benchmark library was built without optimisation");
  }
  if (context != nullptr) {
    const std::string program = StringIn(*context, "executable");
    report.SetOrigin({.time = StringIn(*context, "date"),
                      .node = StringIn(*context, "host_name"),
                      .benchmark = program.substr(program.rfind('/') + 1)});
  }
  for (const Json& entry : *entries) EntryReader(document, report).Read(entry);
}

// "1.2G/s", "800M": numbers that people read, with powers of 1000; bytes_per_second with powers of 1024.
std::optional<double> CounterValue(std::string_view text, bool binary) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  static constexpr std::string_view kPrefixes = "kMGTP";
  double scale = 1;
  if (text.ends_with("i")) {
    binary = true;
    text.remove_suffix(1);
  }
  if (!text.empty() && kPrefixes.find(text.back()) != std::string_view::npos) {
    for (size_t i = 0; i <= kPrefixes.find(text.back()); ++i) scale *= binary ? 1024 : 1000;
    text.remove_suffix(1);
  }
  const auto value = FiniteNumber(text);
  if (!value) return std::nullopt;
  return *value * scale;
}

void ReadConsoleCounters(const std::vector<std::string_view>& words, size_t first, const Labels& labels,
                         const Line& line, Report& report) {
  for (size_t i = first; i < words.size(); ++i) {
    const size_t at = words[i].find('=');
    if (at == std::string_view::npos || at == 0) continue;  // the benchmark's own label
    const std::string_view name = words[i].substr(0, at);
    const auto value = CounterValue(words[i].substr(at + 1), name == "bytes_per_second");
    if (!value) continue;
    const bool rate = name == "bytes_per_second" || name == "items_per_second";
    report.Add({name,
                name == "bytes_per_second" ? "B/s"
                : rate                     ? "1/s"
                                           : "1",
                rate ? "higher" : "none"},
               *value, labels, line.number);
  }
}

// NAME TIME UNIT CPU UNIT ITERATIONS [COUNTERS]
void ReadConsole(Report& report) {
  bool header = false;
  for (const Line& line : report.text().lines()) {
    const auto words = Words(line.text);
    if (words.size() >= 3 && words[0] == "Benchmark" && words[1] == "Time") header = true;
    if (Contains(line.text, "ERROR OCCURRED")) report.Failed(line.number, "a benchmark failed");
    if (!header || words.size() < 6) continue;
    const auto unit = FindUnit(words[2]);
    const auto cpu_unit = FindUnit(words[4]);
    const bool times = unit && cpu_unit && BetterOfUnit(unit->unit) == "lower";
    if (!times) continue;
    Labels labels = {{"benchmark", std::string(words[0])}};
    for (const std::string_view aggregate : {"_mean", "_median", "_stddev", "_min", "_max"}) {
      if (!words[0].ends_with(aggregate)) continue;
      labels = {{"benchmark", std::string(words[0].substr(0, words[0].size() - aggregate.size()))},
                {"aggregate", std::string(aggregate.substr(1))}};
    }
    report.AddText({"real_time", unit->unit, "lower"}, words[1], labels, line.number);
    report.AddText({"cpu_time", cpu_unit->unit, "lower"}, words[3], labels, line.number);
    ReadConsoleCounters(words, 6, labels, line, report);
  }
}

void ReadCsvRow(const CsvTable& table, const CsvRow& row, Report& report) {
  const auto cell = [&](std::string_view name) {
    const auto column = FindColumn(table, name);
    return column ? std::string_view(row.cells[*column]) : std::string_view();
  };
  if (cell("error_occurred") == "true") {
    return report.Failed(row.line, Join({"benchmark '", cell("name"), "': ", cell("error_message")}));
  }
  const auto unit = FindUnit(cell("time_unit"));
  if (!unit) return;  // complexity and coefficients of variation have none
  const Labels labels = {{"benchmark", std::string(cell("name"))}};
  report.AddText({"real_time", unit->unit, "lower"}, cell("real_time"), labels, row.line);
  report.AddText({"cpu_time", unit->unit, "lower"}, cell("cpu_time"), labels, row.line);
  report.AddText({"bytes_per_second", "B/s", "higher"}, cell("bytes_per_second"), labels, row.line);
  report.AddText({"items_per_second", "1/s", "higher"}, cell("items_per_second"), labels, row.line);
}

}  // namespace

void ReadGoogleBenchmark(const Options&, Report& report) {
  for (const Line& line : report.text().lines()) {
    if (!line.text.starts_with("name,iterations,")) continue;
    const CsvTable table = ReadCsvTable(report.text(), line.number, ',', report);
    for (const CsvRow& row : table.rows) ReadCsvRow(table, row, report);
    return;
  }
  const JsonDocuments found = FindJsonDocuments(report.text());
  if (found.documents.empty() && found.errors.empty()) return ReadConsole(report);
  for (const JsonError& error : found.errors) report.Invalid(error.line, error.sentence);
  for (const JsonDocument& document : found.documents) ReadDocument(document, report);
}

}  // namespace fleetmark::parse
