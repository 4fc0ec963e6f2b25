// hyperfine: --export-json, --export-csv, or what it prints. Its files are in seconds.
#include "plugins/parse/csv_table.h"
#include "plugins/parse/json_documents.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

constexpr std::pair<const char*, const char*> kStatistics[] = {
    {"mean", "time_mean"},     {"median", "time_median"}, {"min", "time_min"},      {"max", "time_max"},
    {"stddev", "time_stddev"}, {"user", "user_time"},     {"system", "system_time"}};

// A command that failed was measured all the same with --ignore-failure.
void CheckExits(const Json& result, const std::string& command, const JsonDocument& document,
                Report& report) {
  const Json* codes = ArrayIn(result, "exit_codes");
  for (size_t i = 0; codes != nullptr && i < codes->size(); ++i) {
    if ((*codes)[i] == 0) continue;
    return report.Failed(document.line, Join({"'", command, "' ended with status ", (*codes)[i].dump()}));
  }
}

void ReadDocument(const JsonDocument& document, Report& report) {
  const Json* results = ArrayIn(document.value, "results");
  if (results == nullptr) return report.Invalid(document.line, "this JSON has no 'results'");
  for (const Json& result : *results) {
    const std::string command = StringIn(result, "command");
    Labels labels = {{"command", command}};
    if (const Json* parameters = ObjectIn(result, "parameters"); parameters != nullptr) {
      for (const auto& item : parameters->items()) labels[item.key()] = StringIn(*parameters, item.key());
    }
    CheckExits(result, command, document, report);
    for (const auto& [key, name] : kStatistics)
      AddMember({name, "s", "lower"}, result, key, labels, document, report);
    const Json* times = ArrayIn(result, "times");
    for (size_t i = 0; times != nullptr && i < times->size(); ++i) {
      const Number time = NumberOf((*times)[i]);
      if (time.kind == NumberKind::kNumber) {
        report.Add({"time", "s", "lower"}, time.value, labels, document.line);
      } else {
        report.Invalid(document.line, Join({"a time of '", command, "' is ", ShownJson((*times)[i])}));
      }
    }
  }
}

void ReadTable(size_t header_line, Report& report) {
  const CsvTable table = ReadCsvTable(report.text(), header_line, ',', report);
  for (const CsvRow& row : table.rows) {
    Labels labels;
    for (size_t i = 0; i < table.header.size(); ++i) {
      if (table.header[i] == "command") labels["command"] = row.cells[i];
      if (table.header[i].starts_with("parameter_")) labels[table.header[i].substr(10)] = row.cells[i];
    }
    for (const auto& [key, name] : kStatistics) {
      const auto column = FindColumn(table, key);
      if (column) report.AddText({name, "s", "lower"}, row.cells[*column], labels, row.line);
    }
  }
}

class ConsoleReader {
 public:
  explicit ConsoleReader(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) ReadLine(line, Trim(line.text));
    EndBenchmark();
  }

 private:
  void ReadLine(const Line& line, std::string_view text) {
    if (text.starts_with("Benchmark ") && Contains(text, ": ")) {
      EndBenchmark();
      labels_ = {{"command", std::string(Trim(*After(text, ": ")))}};
      benchmark_line_ = line.number;
    } else if (text.starts_with("Time (")) {
      ReadTimes(line, text);
    } else if (text.starts_with("Range (")) {
      const auto parts = Split(After(text, "):").value_or(""), "\xE2\x80\xA6");  // "a ... b   N runs"
      if (parts.size() != 2) return report_.Invalid(line.number, "a range without two times");
      AddTime("time_min", parts[0], line.number);
      AddTime("time_max", parts[1], line.number);
    } else if (text.starts_with("Error:")) {
      report_.Failed(line.number, "hyperfine failed");
    } else if (text.starts_with("Warning:")) {
      report_.Warning(line.number, "hyperfine warns");
    }
  }

  // "Time (mean +- sigma):  102.3 ms +- 0.5 ms  [User: 1.0 ms, System: 0.9 ms]"
  void ReadTimes(const Line& line, std::string_view text) {
    has_time_ = true;
    const std::string_view rest = After(text, "):").value_or("");
    const auto parts = Split(rest.substr(0, rest.find('[')), "\xC2\xB1");
    AddTime("time_mean", parts[0], line.number);
    if (parts.size() > 1) AddTime("time_stddev", parts[1], line.number);
    if (const auto user = Between(rest, "User:", ",")) AddTime("user_time", *user, line.number);
    if (const auto system = Between(rest, "System:", "]")) AddTime("system_time", *system, line.number);
  }

  // A number and its unit are the first two words.
  void AddTime(std::string_view name, std::string_view text, size_t line) {
    const auto words = Words(text);
    const auto unit = words.size() < 2 ? std::nullopt : FindUnit(words[1]);
    if (!unit) return report_.Invalid(line, Join({"'", name, "' is not a time"}));
    report_.AddText({name, unit->unit, "lower"}, words[0], labels_, line);
  }

  void EndBenchmark() {
    if (benchmark_line_ > 0 && !has_time_ && !report_.failed()) {
      report_.Invalid(benchmark_line_, "the output is cut off: no time of this benchmark");
    }
    has_time_ = false;
    benchmark_line_ = 0;
  }

  Report& report_;
  Labels labels_;
  size_t benchmark_line_ = 0;
  bool has_time_ = false;
};

}  // namespace

void ReadHyperfine(const Options&, Report& report) {
  for (const Line& line : report.text().lines()) {
    if (line.text.starts_with("command,mean,")) return ReadTable(line.number, report);
  }
  const JsonDocuments found = FindJsonDocuments(report.text());
  if (found.documents.empty() && found.errors.empty()) return ConsoleReader(report).Read();
  for (const JsonError& error : found.errors) report.Invalid(error.line, error.sentence);
  for (const JsonDocument& document : found.documents) ReadDocument(document, report);
}

}  // namespace fleetmark::parse
