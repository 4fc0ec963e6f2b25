#include "plugins/parse/mlperf_log.h"

#include <algorithm>
#include <map>

#include "plugins/parse/json_documents.h"

namespace fleetmark::parse {
namespace {

constexpr std::string_view kToken = ":::mllog";
constexpr size_t kMaxRecordBytes = 64 * 1024;

// The end of the object that begins at `at`, newlines within strings allowed; npos if there is none before
// the next token.
size_t ObjectEnd(std::string_view text, size_t at) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = at; i < std::min(text.size(), at + kMaxRecordBytes); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

std::string WithoutNewlines(std::string_view text) {
  std::string flat(text);
  std::replace(flat.begin(), flat.end(), '\n', ' ');
  return flat;
}

std::optional<MllogRecord> RecordOf(const Json& json, size_t line) {
  MllogRecord record;
  record.line = line;
  record.key = StringIn(json, "key");
  record.event = StringIn(json, "event_type");
  const auto time = NumberIn(json, "time_ms");
  if (record.key.empty() || !time) return std::nullopt;
  record.time_ms = *time;
  record.loadgen = StringIn(json, "namespace") == "mlperf::logging";
  if (const Json* value = Member(json, "value"); value != nullptr) record.value = *value;
  if (const Json* metadata = Member(json, "metadata"); metadata != nullptr) record.metadata = *metadata;
  return record;
}

using Records = std::vector<const MllogRecord*>;

std::optional<double> NumberOfValue(const MllogRecord& record) {
  const Number number = NumberOf(record.value);
  if (number.kind != NumberKind::kNumber) return std::nullopt;
  return number.value;
}

// One run of training.
class TrainingRun {
 public:
  TrainingRun(Records records, Report& report) : records_(std::move(records)), report_(report) {}

  void Read() {
    const MllogRecord* start = First("run_start");
    const MllogRecord* stop = Last("run_stop");
    if (const auto* benchmark = First("submission_benchmark");
        benchmark != nullptr && benchmark->value.is_string()) {
      labels_["benchmark"] = benchmark->value.get<std::string>();
    }
    ReadTrackedStatistics();
    ReadEvaluation();
    AddInterval("init_time", First("init_start"), First("init_stop"));
    AddInterval("staging_time", First("staging_start"), Last("staging_stop"));
    ReadEpochs();
    if (start == nullptr) return;
    if (stop == nullptr) {
      return report_.Invalid(start->line, "the output is cut off: run_start without run_stop");
    }
    AddInterval("time_to_train", start, stop);
    ReadThroughput(*start, *stop);
    const std::string status = StringIn(stop->metadata, "status");
    if (status != "success") {
      report_.Failed(stop->line, Join({"the run did not reach its target: its status is '", status, "'"}));
    }
  }

 private:
  const MllogRecord* First(std::string_view key) const {
    for (const MllogRecord* record : records_) {
      if (record->key == key) return record;
    }
    return nullptr;
  }
  const MllogRecord* Last(std::string_view key) const {
    const MllogRecord* last = nullptr;
    for (const MllogRecord* record : records_) last = record->key == key ? record : last;
    return last;
  }

  void AddInterval(std::string_view name, const MllogRecord* start, const MllogRecord* stop) {
    if (start == nullptr || stop == nullptr) return;
    if (stop->time_ms < start->time_ms)
      return report_.Invalid(stop->line, Join({"'", name, "' ends before it begins"}));
    report_.Add({name, "s", "lower", 1e-3}, stop->time_ms - start->time_ms, labels_, stop->line);
  }

  // {"throughput": 30.6, "loss": ...} at some steps: the vendors' form.
  void ReadTrackedStatistics() {
    for (const MllogRecord* record : records_) {
      if (record->key == "tracked_stats" && record->value.is_object()) {
        if (const auto rate = NumberIn(record->value, "throughput")) {
          report_.Add({"throughput", "samples/s", "higher"}, *rate, labels_, record->line);
        }
      } else if (record->key == "epoch_train_throughput" || record->key == "block_train_throughput" ||
                 record->key == "throughput") {
        if (const auto rate = NumberOfValue(*record)) {
          report_.Add({"throughput", "samples/s", "higher"}, *rate, labels_, record->line);
        }
      }
    }
  }

  // The last before the end is the point of convergence.
  void ReadEvaluation() {
    for (const auto& [key, better] :
         {std::pair{"eval_accuracy", "higher"}, std::pair{"eval_error", "lower"}}) {
      const MllogRecord* last = Last(key);
      if (last == nullptr) continue;
      const Number number = NumberOf(last->value);
      if (number.kind == NumberKind::kNumber) {
        report_.Add({key, "1", better}, number.value, labels_, last->line);
      } else if (number.kind == NumberKind::kNotFinite) {
        report_.Warning(last->line, Join({"'", key, "' is not finite and left out"}));
      } else {
        report_.Invalid(last->line, Join({"'", key, "' is not a number"}));
      }
    }
  }

  // Each epoch's time; of several ranks' records only those that pair up in order.
  void ReadEpochs() {
    const MllogRecord* start = nullptr;
    size_t epochs = 0;
    for (const MllogRecord* record : records_) {
      if (record->key == "epoch_start" && start == nullptr) start = record;
      if (record->key != "epoch_stop" || start == nullptr) continue;
      AddInterval("epoch_time", start, record);
      start = nullptr;
      ++epochs;
    }
    epochs_ = epochs;
  }

  // train_samples x epochs over the time of the run, where nothing states a throughput.
  void ReadThroughput(const MllogRecord& start, const MllogRecord& stop) {
    const MllogRecord* samples = First("train_samples");
    const double seconds = (stop.time_ms - start.time_ms) / 1e3;
    if (samples == nullptr || epochs_ == 0 || seconds <= 0) return;
    const auto count = NumberOfValue(*samples);
    if (count) {
      report_.Add({"run_throughput", "samples/s", "higher"}, *count * static_cast<double>(epochs_) / seconds,
                  labels_, stop.line);
    }
  }

  const Records records_;
  Report& report_;
  Labels labels_;
  size_t epochs_ = 0;
};

// result_90.00_percentile_latency_ns -> 90.00.
void ReadLoadgenLatency(const MllogRecord& record, double value, Report& report) {
  const std::string_view key = record.key;
  for (const std::string_view statistic : {"min", "mean", "max"}) {
    if (key != Join({"result_", statistic, "_latency_ns"})) continue;
    const std::string name = Join({"latency_", statistic});
    report.Add({name, "ns", "lower"}, value, {}, record.line);
  }
  for (const auto& [suffix, name] :
       {std::pair{"_percentile_latency_ns", "latency_percentile"},
        std::pair{"_percentile_per_query_latency_ns", "query_latency_percentile"}}) {
    if (!key.starts_with("result_") || !key.ends_with(suffix)) continue;
    const std::string_view rest = key.substr(7);
    report.Add({name, "ns", "lower"}, value, {{"percentile", std::string(rest.substr(0, rest.find('_')))}},
               record.line);
  }
}

void ReadLoadgen(const Records& records, Report& report) {
  bool verdict = false;
  for (const MllogRecord* record : records) {
    if (StringIn(record->metadata, "is_error") == "true") {
      report.Invalid(record->line, Join({"LoadGen reports an error: ", ShownJson(record->value)}));
    }
    if (record->key == "result_validity") {
      verdict = true;
      if (record->value != "VALID") report.Invalid(record->line, "LoadGen calls the result invalid");
    }
    const auto value = NumberOfValue(*record);
    if (!value) continue;
    const bool samples = record->key == "result_samples_per_second" ||
                         record->key == "result_completed_samples_per_sec" ||
                         record->key == "result_scheduled_samples_per_sec";
    const std::string_view name =
        std::string_view(record->key).substr(std::min<size_t>(7, record->key.size()));
    if (samples) report.Add({name, "samples/s", "higher"}, *value, {}, record->line);
    if (record->key == "result_tokens_per_second" || record->key == "result_completed_tokens_per_second") {
      report.Add({name, "tokens/s", "higher"}, *value, {}, record->line);
    }
    ReadLoadgenLatency(*record, *value, report);
  }
  if (!verdict) report.Invalid(records.back()->line, "the output is cut off: there is no result_validity");
}

}  // namespace

std::vector<MllogRecord> FindMllogRecords(const Text& text, Report& report) {
  std::vector<MllogRecord> records;
  const std::string_view all = text.all();
  const std::string lower = Lower(all);
  for (size_t at = lower.find(kToken); at != std::string::npos; at = lower.find(kToken, at)) {
    const size_t line = text.LineNumberAt(at);
    const size_t next = std::min(lower.find(kToken, at + kToken.size()), lower.size());
    size_t begin = at + kToken.size();
    while (begin < next && (all[begin] == ' ' || all[begin] == '\t')) ++begin;
    const size_t end = begin < next && all[begin] == '{' ? ObjectEnd(all, begin) : std::string_view::npos;
    at += kToken.size();
    const bool whole = end != std::string_view::npos && end <= next;
    const auto json = whole ? ParseJson(WithoutNewlines(all.substr(begin, end - begin))) : std::nullopt;
    auto record = json ? RecordOf(*json, line) : std::nullopt;
    if (record) {
      records.push_back(*std::move(record));
    } else {
      report.Warning(line, "a record of MLLOG that can't be read");
    }
  }
  return records;
}

void ReadMllogRecords(const std::vector<MllogRecord>& records, Report& report) {
  Records loadgen;
  std::vector<Records> runs(1);
  for (const MllogRecord& record : records) {
    if (record.loadgen) {
      loadgen.push_back(&record);
      continue;
    }
    // A new run begins with an init_start after the last one's run_stop; ranks of one run repeat init_start.
    const auto has = [&runs](std::string_view key) {
      return std::any_of(runs.back().begin(), runs.back().end(),
                         [key](const auto* one) { return one->key == key; });
    };
    const bool begins = record.key == "init_start" || record.key == "submission_benchmark";
    if (begins && (has("run_stop") || (record.key == "init_start" && has("run_start")))) runs.emplace_back();
    runs.back().push_back(&record);
  }
  if (!loadgen.empty()) ReadLoadgen(loadgen, report);
  for (Records& run : runs) {
    if (!run.empty()) TrainingRun(std::move(run), report).Read();
  }
}

}  // namespace fleetmark::parse
