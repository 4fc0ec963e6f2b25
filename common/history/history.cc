#include "common/history/history.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/history/written_time.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "plugins/parse/reader.h"

namespace fleetmark {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

// Labels that say what a record's node, benchmark and time say already.
constexpr std::array<std::string_view, 3> kTold = {"test", "nodes", "node"};

absl::StatusOr<std::string_view> ReaderOf(std::string_view tool, std::string_view text) {
  if (tool == "superbench") return "superbench";
  if (tool == "googlebenchmark") return "google_benchmark";
  if (tool != "reframe") {
    return absl::InvalidArgumentError(absl::StrCat("no history of '", std::string(tool), "' is read"));
  }
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{' ? "reframe_report" : "reframe_perflog";
}

std::string LabelOf(const parse::Metric& metric, const char* name) {
  const auto it = metric.labels.find(name);
  return it == metric.labels.end() ? std::string() : it->second;
}

absl::StatusOr<std::string> NodeOf(const parse::Metric& metric, const HistoryOptions& options) {
  const std::string& hosts = metric.origin.node;
  if (CheckNodeName(hosts).ok()) return hosts;
  const std::string system = LabelOf(metric, "system");
  for (const std::string& name : {options.node, system}) {
    if (!name.empty()) return name;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", metric.name, "' names no single node and no system, and no node is given for such"));
}

// A name of a benchmark has fewer letters than those of tests and programs.
std::string BenchmarkName(const std::string& name) {
  std::string out = name.substr(0, limits::kNameBytes);
  for (char& c : out) {
    const bool good = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.';
    if (!good) c = '_';
  }
  if (!out.empty() && !absl::ascii_isalnum(static_cast<unsigned char>(out[0]))) out[0] = 'x';
  return out;
}

std::string BenchmarkOf(const parse::Metric& metric, std::string_view tool, const HistoryOptions& options) {
  const std::string own =
      metric.origin.benchmark.empty() ? LabelOf(metric, "benchmark") : metric.origin.benchmark;
  for (const std::string& name : {own, options.benchmark}) {
    if (!name.empty()) return BenchmarkName(name);
  }
  return std::string(tool);
}

v1::Better BetterOf(std::string_view text) {
  if (text == "higher") return v1::BETTER_HIGHER;
  return text == "lower" ? v1::BETTER_LOWER : v1::BETTER_NONE;
}

v1::Reference ReferenceOf(const parse::Metric& metric) {
  v1::Reference out;
  out.set_value(metric.reference->value);
  out.set_unit(metric.unit);
  if (metric.reference->lower) out.set_lower(*metric.reference->lower);
  if (metric.reference->upper) out.set_upper(*metric.reference->upper);
  return out;
}

class Historian {
 public:
  Historian(std::string_view tool, const HistoryOptions& options) : tool_(tool), options_(options) {}

  // Lets go of each metric once it is read, as there may be very many.
  History Read(parse::ParsedOutput output) {
    for (parse::Metric& entry : output.metrics) {
      const parse::Metric metric = std::exchange(entry, {});
      if (metric.origin.failed) {
        ++history_.unusable;
      } else if (const absl::Status added = Add(metric); !added.ok()) {
        history_.faults.push_back({metric.line, Message(added)});
      }
    }
    for (const parse::Problem& problem : output.problems) {
      if (problem.outcome == parse::Outcome::kFailed) ++history_.failed;
      if (problem.outcome == parse::Outcome::kInvalid)
        history_.faults.push_back({problem.line, problem.text});
    }
    return std::move(history_);
  }

 private:
  absl::Status Add(const parse::Metric& metric) {
    HistoryMetric made;
    made.line = metric.line;
    ImportedMetric& out = made.metric;
    FM_ASSIGN_OR_RETURN(out.node, NodeOf(metric, options_));
    out.benchmark = BenchmarkOf(metric, tool_, options_);
    out.metric = metric.name;
    out.unit = metric.unit;
    out.better = BetterOf(metric.better);
    out.value = metric.value;
    out.labels = LabelsOf(metric, out.benchmark);
    const std::string& written = metric.origin.time.empty() ? options_.time : metric.origin.time;
    if (written.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", metric.name, "' has no time, and none is given for such"));
    }
    FM_ASSIGN_OR_RETURN(out.time_unix_ns, ReadWrittenTime(written, options_.zone));
    TellApart(&out);
    if (metric.reference) made.reference = ReferenceOf(metric);
    history_.metrics.push_back(std::move(made));
    return absl::OkStatus();
  }

  static std::map<std::string, std::string> LabelsOf(const parse::Metric& metric,
                                                     const std::string& benchmark) {
    std::map<std::string, std::string> labels;
    for (const auto& [name, value] : metric.labels) {
      const bool told = std::find(kTold.begin(), kTold.end(), name) != kTold.end() ||
                        (name == "benchmark" && value == benchmark);
      // The name `benchmark` is the series' own.
      if (!told) labels.emplace(name == "benchmark" ? "case" : name, value);
    }
    return labels;
  }

  void TellApart(ImportedMetric* metric) {
    std::string key =
        absl::StrCat(metric->node, "\n", metric->benchmark, "\n", metric->metric, "\n", metric->time_unix_ns);
    for (const auto& [name, value] : metric->labels) absl::StrAppend(&key, "\n", name, "=", value);
    metric->time_unix_ns += kNsPerMs * seen_[std::move(key)]++;
  }

  const std::string_view tool_;
  const HistoryOptions& options_;
  History history_;
  std::map<std::string, int64_t> seen_;  // how often a metric came at a moment
};

}  // namespace

absl::StatusOr<History> ReadHistory(std::string_view tool, std::string_view text,
                                    const HistoryOptions& options) {
  FM_ASSIGN_OR_RETURN(const std::string_view reader, ReaderOf(tool, text));
  parse::ParsedOutput output;
  std::string error;
  const parse::OutputBounds bounds = {.metrics = kMaxHistoryMetrics, .problems = kMaxHistoryMetrics};
  if (!parse::ReadOutput(reader, text, "", &output, &error, bounds)) return absl::InternalError(error);
  return Historian(tool, options).Read(std::move(output));
}

}  // namespace fleetmark
