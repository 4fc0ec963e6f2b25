// MLPerf: the ":::MLLOG {...}" records of training and HPC, LoadGen's detail log (the same token, another
// clock), LoadGen's summary, and the epoch lines of text that ports without mllog print.
#include <map>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/mlperf_log.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

// "Processing Speed: 1234.5" and so on, once an epoch.
constexpr std::pair<std::string_view, MetricKind> kEpochLines[] = {
    {"Processing Speed:", {"throughput", "samples/s", "higher"}},
    {"Time For Epoch:", {"epoch_time", "s", "lower"}},
    {"Communication Time:", {"communication_time", "s", "lower"}},
    {"Total IO Time:", {"io_time", "s", "lower"}},
    {"Change In Train Loss at Epoch:", {"train_loss_change", "1", "none"}},
    {"Avg GPU Power Draw:", {"gpu_power", "W", "none"}},
    {"Avg GPU Utilization:", {"gpu_utilization", "%", "none"}},
    {"Avg IPU Power Usage:", {"ipu_power", "W", "none"}},
};

void ReadEpochLine(const Line& line, Report& report) {
  for (const auto& [marker, kind] : kEpochLines) {
    const auto rest = After(line.text, marker);
    if (!rest) continue;
    const auto words = Words(*rest);
    if (words.empty()) {
      report.Invalid(line.number, "a value is missing");
      continue;
    }
    const Quantity quantity = ReadQuantity(words[0]);
    Labels labels;
    if (line.rank >= 0) labels["rank"] = std::to_string(line.rank);
    const bool bare =
        quantity.unit.empty() || FindUnit(quantity.unit).value_or(UnitSpelling{""}).unit == kind.unit;
    const std::string_view number =
        bare ? words[0].substr(0, words[0].size() - quantity.unit.size()) : words[0];
    report.AddText(kind, number, labels, line.number);
  }
}

// LoadGen's summary: "Key : value".
class SummaryReader {
 public:
  explicit SummaryReader(Report& report) : report_(report) {}

  bool Read() {
    for (const Line& line : report_.text().lines()) {
      const size_t colon = line.text.find(" : ");
      if (Contains(line.text, "MLPerf Results Summary")) inside_ = true;
      if (!inside_ || colon == std::string_view::npos) continue;
      ReadPair(line, Trim(line.text.substr(0, colon)), Trim(line.text.substr(colon + 3)));
    }
    if (inside_ && !verdict_) report_.Invalid(0, "the output is cut off: the summary has no 'Result is'");
    return inside_;
  }

 private:
  void ReadPair(const Line& line, std::string_view key, std::string_view value) {
    if (key == "Scenario") labels_["scenario"] = std::string(value);
    if (key == "Result is") {
      verdict_ = true;
      if (value != "VALID") report_.Invalid(line.number, "LoadGen calls the result invalid");
    }
    if (key == "Samples per second" || key == "Completed samples per second" ||
        key == "Scheduled samples per second") {
      const std::string name = SnakeCase(key);
      report_.AddText({name, "samples/s", "higher"}, value, labels_, line.number);
    } else if (key == "Tokens per second" || key == "Completed tokens per second") {
      const std::string name = SnakeCase(key);
      report_.AddText({name, "tokens/s", "higher"}, value, labels_, line.number);
    } else if (key.ends_with("percentile latency (ns)")) {
      Labels labels = labels_;
      labels["percentile"] = std::string(key.substr(0, key.find(' ')));
      report_.AddText({"latency_percentile", "ns", "lower"}, value, labels, line.number);
    } else if (key == "Mean latency (ns)" || key == "Min latency (ns)" || key == "Max latency (ns)") {
      const std::string name = Join({"latency_", Lower(key.substr(0, key.find(' ')))});
      report_.AddText({name, "ns", "lower"}, value, labels_, line.number);
    }
  }

  Report& report_;
  Labels labels_;
  bool inside_ = false;
  bool verdict_ = false;
};

}  // namespace

void ReadMlperf(const Options&, Report& report) {
  const std::vector<MllogRecord> records = FindMllogRecords(report.text(), report);
  if (!records.empty()) ReadMllogRecords(records, report);
  if (SummaryReader(report).Read()) return;
  for (const Line& line : report.text().lines()) ReadEpochLine(line, report);
}

}  // namespace fleetmark::parse
