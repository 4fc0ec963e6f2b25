#include "plugins/parse/reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/reader_functions.h"
#include "plugins/parse/regex.h"
#include "plugins/parse/regex_spec.h"

namespace fleetmark::parse {
namespace {

std::vector<Reader> MakeReaders() {
  using T = OptionType;
  const ReaderOption metrics = {"metrics", T::kList, "what to read; docs/readers.md has the keys"};
  return {
      {"babelstream", "BabelStream: table or CSV, any unit", ReadBabelStream, "BabelStream result"},
      {"cerebras", "Cerebras training log: GlobalRate, loss, end of the training", ReadCerebras,
       "Cerebras training rate"},
      {"csv",
       "Columns of a CSV table",
       ReadCsv,
       "CSV table",
       {metrics,
        {"label_columns", T::kList, "columns that become labels"},
        {"delimiter", T::kString, "one character; found out if not set"}},
       CheckCsvOptions},
      {"dcgmi_diag", "dcgmi diag -j, versions 3 and 4", ReadDcgmiDiag, "DCGM diagnostic"},
      {"fio", "fio --output-format=json or json+, any version", ReadFio, "fio job"},
      {"gc_monitor", "Graphcore gc-monitor tables, gc-info, gc-inventory", ReadGcMonitor, "IPU reading"},
      {"google_benchmark", "Google Benchmark: JSON, console or CSV", ReadGoogleBenchmark, "benchmark"},
      {"hpcg", "HPCG's result file, 3.0 and 3.1", ReadHpcg, "HPCG result"},
      {"hpl", "HPL's output, also NVIDIA's", ReadHpl, "HPL result"},
      {"hyperfine", "hyperfine: exported JSON or CSV, or what it prints", ReadHyperfine, "hyperfine result"},
      {"ior", "IOR: tables or JSON, 3.x and 4.x", ReadIor, "IOR result"},
      {"iperf3", "iperf3 -J or --json-stream", ReadIperf3, "iperf3 result"},
      {"json",
       "Values of JSON documents by path",
       ReadJsonPaths,
       "number at the paths",
       {metrics, {"expect", T::kList, "maps of path and equals: what must hold, or the run is invalid"}},
       CheckJsonPathOptions},
      {"keyvalue",
       "Lines of key=value or key: value",
       ReadKeyValue,
       "key with a number",
       {metrics, {"separator", T::kString, "between key and value; '=' or ':' if not set"}},
       CheckKeyValueOptions},
      {"mdtest", "mdtest's summaries, rates or times", ReadMdtest, "mdtest summary"},
      {"mlperf", "MLPerf logs: training, HPC, LoadGen detail and summary, epochs as text", ReadMlperf,
       "MLPerf result"},
      {"nagios", "Monitoring plugins' status and performance data", ReadNagios, "performance data"},
      {"nccl_tests", "nccl-tests and rccl-tests: table of any version, or JSON", ReadNcclTests,
       "nccl-tests result"},
      {"nvbandwidth",
       "nvbandwidth: text or JSON",
       ReadNvbandwidth,
       "nvbandwidth result",
       {{"cells", T::kBool, "each cell of the matrices, not only their sums; true if not set"}}},
      {"nvidia_smi", "nvidia-smi --query-gpu --format=csv", ReadNvidiaSmi, "GPU reading"},
      {"openmetrics",
       "OpenMetrics or Prometheus text format",
       ReadOpenMetrics,
       "sample",
       {{"better", T::kMap, "higher, lower or none for a metric's name; none if not set"}}},
      {"osu", "OSU micro-benchmarks", ReadOsu, "OSU result"},
      {"popdist", "Graphcore training under poprun: throughput of each instance", ReadPopdist,
       "throughput line"},
      {"reframe_perflog", "ReFrame performance logs, with header or in the old form", ReadReframePerflog,
       "ReFrame performance record"},
      {"reframe_report", "ReFrame run reports of every data version, and httpjson records", ReadReframeReport,
       "ReFrame performance value"},
      {"regex",
       "Regular expressions with sanity patterns",
       ReadRegex,
       "match",
       {metrics,
        {"sanity", T::kList, "patterns that must match"},
        {"sanity_not", T::kList, "patterns that must not match"}},
       CheckRegexOptions},
      {"stream", "McCalpin's STREAM", ReadStream, "STREAM result"},
      {"superbench", "SuperBench's results-summary.jsonl", ReadSuperBench, "SuperBench result"},
  };
}

// Other names that people look for a reader under.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"dcgm", "dcgmi_diag"},
                                                                      {"dcgm_diag", "dcgmi_diag"},
                                                                      {"dcgmi", "dcgmi_diag"},
                                                                      {"gbench", "google_benchmark"},
                                                                      {"googlebenchmark", "google_benchmark"},
                                                                      {"json_path", "json"},
                                                                      {"jsonpath", "json"},
                                                                      {"key_value", "keyvalue"},
                                                                      {"mllog", "mlperf"},
                                                                      {"nagios_perfdata", "nagios"},
                                                                      {"nccl", "nccl_tests"},
                                                                      {"perfdata", "nagios"},
                                                                      {"perflog", "reframe_perflog"},
                                                                      {"poprun", "popdist"},
                                                                      {"prometheus", "openmetrics"},
                                                                      {"rccl_tests", "nccl_tests"},
                                                                      {"reframe", "reframe_report"},
                                                                      {"reframe_json", "reframe_report"}};

bool HasType(const Options& value, OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return value.is_boolean();
    case OptionType::kString:
      return value.is_string();
    case OptionType::kList:
      return value.is_array();
    case OptionType::kMap:
      break;
  }
  return value.is_object();
}

std::string_view TypeName(OptionType type) {
  static constexpr std::string_view kNames[] = {"true or false", "a string", "a list", "a map"};
  return kNames[static_cast<size_t>(type)];
}

bool AllStrings(const Options& values) {
  return std::all_of(values.begin(), values.end(), [](const Options& value) { return value.is_string(); });
}

const std::vector<ReaderOption>& CommonOptions() {
  static const std::vector<ReaderOption> options = {
      {"only", OptionType::kList, "names of the metrics to keep; all if not set"},
      {"labels", OptionType::kMap, "labels added to each metric"},
      {"reduce", OptionType::kString, "of repetitions: all, first, last, min, max, mean or median"}};
  return options;
}

const ReaderOption* FindOption(const Reader& reader, std::string_view name) {
  for (const auto* list : {&reader.options, &CommonOptions()}) {
    for (const ReaderOption& option : *list) {
      if (option.name == name) return &option;
    }
  }
  return nullptr;
}

std::string UnknownOption(const Reader& reader, std::string_view name) {
  std::string known;
  for (const auto* list : {&reader.options, &CommonOptions()}) {
    for (const ReaderOption& option : *list) known += Join({known.empty() ? "" : ", ", option.name});
  }
  return Join({"reader '", reader.name, "' has no option '", name, "'; it has ", known});
}

// Repetitions reduced to one, where the options ask for it.
void ReduceRepetitions(Reduce reduce, std::vector<Metric>* metrics) {
  std::map<std::pair<std::string, Labels>, size_t> first;
  std::vector<Metric> kept;
  std::vector<std::vector<double>> values;
  for (Metric& metric : *metrics) {
    const auto [found, is_new] = first.try_emplace({metric.name, metric.labels}, kept.size());
    if (is_new) {
      kept.push_back(metric);
      values.emplace_back();
    }
    values[found->second].push_back(metric.value);
  }
  for (size_t i = 0; i < kept.size(); ++i) kept[i].value = ReduceValues(values[i], reduce);
  *metrics = std::move(kept);
}

void ApplyCommonOptions(const Options& options, ParsedOutput* output) {
  if (const Options* only = ArrayIn(options, "only"); only != nullptr) {
    const auto unwanted = [only](const Metric& metric) {
      return std::find(only->begin(), only->end(), metric.name) == only->end();
    };
    std::erase_if(output->metrics, unwanted);
    for (const Options& name : *only) {
      const auto has = [&name](const Metric& metric) { return metric.name == name; };
      if (output->outcome != Outcome::kOk ||
          std::any_of(output->metrics.begin(), output->metrics.end(), has)) {
        continue;
      }
      output->outcome = Outcome::kInvalid;
      output->problems.push_back(
          {0, Join({"there is no metric '", name.get<std::string>(), "' in the text"})});
    }
  }
  const std::string reduce = StringIn(options, "reduce");
  if (!reduce.empty() && reduce != "all") ReduceRepetitions(*ReduceNamed(reduce), &output->metrics);
}

Options MetricJson(const Metric& metric) {
  Options json = {{"name", metric.name},
                  {"value", metric.value},
                  {"unit", metric.unit},
                  {"better", metric.better},
                  {"labels", metric.labels}};
  if (metric.reference) {
    const auto bound = [](const std::optional<double>& value) { return value ? Options(*value) : Options(); };
    json["reference"] = {{"value", metric.reference->value},
                         {"lower", bound(metric.reference->lower)},
                         {"upper", bound(metric.reference->upper)}};
  }
  return json;
}

}  // namespace

const std::vector<Reader>& Readers() {
  static const std::vector<Reader> readers = MakeReaders();
  return readers;
}

const Reader* FindReader(std::string_view name) {
  std::string known = Lower(name);
  std::replace(known.begin(), known.end(), '-', '_');
  for (const auto& [alias, meant] : kAliases) {
    if (known == alias) known = meant;
  }
  for (const Reader& reader : Readers()) {
    if (reader.name == known) return &reader;
  }
  return nullptr;
}

std::string CheckOptions(const Reader& reader, const Options& options) {
  if (!options.is_object()) return "the options must be a map";
  for (const auto& item : options.items()) {
    const ReaderOption* option = FindOption(reader, item.key());
    if (option == nullptr) return UnknownOption(reader, item.key());
    if (!HasType(item.value(), option->type)) {
      return Join(
          {"option '", item.key(), "' must be ", TypeName(option->type), ", not ", ShownJson(item.value())});
    }
  }
  for (const char* name : {"only", "labels"}) {
    const Options* values = Member(options, name);
    if (values != nullptr && !AllStrings(*values)) return Join({"option '", name, "' must hold strings"});
  }
  const std::string reduce = StringIn(options, "reduce");
  if (!reduce.empty() && !ReduceNamed(reduce)) {
    return Join({"option 'reduce' must be ", kReduceNames, ", not '", reduce, "'"});
  }
  return reader.check == nullptr ? "" : reader.check(options);
}

ParsedOutput ReadOutput(const Reader& reader, std::string_view text, const Options& options,
                        OutputBounds bounds) {
  const Text lines(text);
  Report report(lines, bounds);
  if (const Options* labels = ObjectIn(options, "labels"); labels != nullptr) {
    report.SetLabels(labels->get<Labels>());
  }
  reader.read(options, report);
  ParsedOutput output = report.Take(reader.what);
  ApplyCommonOptions(options, &output);
  return output;
}

bool ReadOutput(std::string_view reader_name, std::string_view text, std::string_view options,
                ParsedOutput* output, std::string* error, OutputBounds bounds) {
  const Reader* reader = FindReader(reader_name);
  if (reader == nullptr) {
    *error = Join({"there is no reader '", reader_name, "'; `fleetmark parse --list` names them"});
    return false;
  }
  const std::optional<Options> parsed = options.empty() ? Options::object() : ParseJson(options);
  *error = parsed ? CheckOptions(*reader, *parsed) : "the options are not JSON";
  if (!error->empty()) return false;
  *output = ReadOutput(*reader, text, *parsed, bounds);
  return true;
}

std::string ReadersJson() {
  Options list = Options::array();
  for (const Reader& reader : Readers()) {
    Options options = Options::array();
    for (const auto* some : {&reader.options, &CommonOptions()}) {
      for (const ReaderOption& option : *some)
        options.push_back({{"name", option.name}, {"summary", option.summary}});
    }
    list.push_back({{"name", reader.name}, {"summary", reader.summary}, {"options", options}});
  }
  return list.dump(2);
}

std::string ToJson(const ParsedOutput& output) {
  Options metrics = Options::array();
  for (const Metric& metric : output.metrics) metrics.push_back(MetricJson(metric));
  Options problems = Options::array();
  for (const Problem& problem : output.problems) {
    problems.push_back({{"line", problem.line},
                        {"text", problem.text},
                        {"severity", problem.warning ? "warning" : "error"}});
  }
  const Options json = {
      {"outcome", OutcomeName(output.outcome)}, {"metrics", metrics}, {"problems", problems}};
  return json.dump(2, ' ', false, Options::error_handler_t::replace);
}

}  // namespace fleetmark::parse
