// SuperBench's results-summary.jsonl: one flat object for each node, whose keys are
// BENCHMARK[:ANNOTATION]/[RUN/]METRIC[:RANK]. It has no units, so they come from what its benchmarks measure.
#include <re2/re2.h>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

struct Rule {
  std::string_view benchmark;  // begins with this
  std::string_view metric;     // holds this
  std::string_view unit;
  std::string_view better;
};

// The first that fits.
constexpr Rule kRules[] = {
    {"nccl-bw", "busbw", "GB/s", "higher"},
    {"nccl-bw", "algbw", "GB/s", "higher"},
    {"nccl-bw", "time", "us", "lower"},
    {"rccl-bw", "busbw", "GB/s", "higher"},
    {"rccl-bw", "algbw", "GB/s", "higher"},
    {"rccl-bw", "time", "us", "lower"},
    {"kernel-launch", "", "ms", "lower"},
    {"gemm-flops", "", "GFLOP/s", "higher"},
    {"cublaslt-gemm", "", "TFLOP/s", "higher"},
    {"hipblaslt-gemm", "", "TFLOP/s", "higher"},
    {"cublas-function", "", "us", "lower"},
    {"cudnn-function", "", "us", "lower"},
    {"tensorrt-inference", "", "ms", "lower"},
    {"ort-inference", "", "ms", "lower"},
    {"mem-bw", "", "GB/s", "higher"},
    {"gpu-copy-bw", "", "GB/s", "higher"},
    {"gpu-sm-copy-bw", "", "GB/s", "higher"},
    {"nvbandwidth", "lat", "ns", "lower"},
    {"nvbandwidth", "", "GB/s", "higher"},
    {"ib-loopback", "", "GB/s", "higher"},
    {"ib-traffic", "lat", "us", "lower"},
    {"ib-traffic", "bw", "GB/s", "higher"},
    {"cpu-stream", "threads", "count", "none"},
    {"cpu-stream", "throughput", "MB/s", "higher"},
    {"cpu-memory-bw-latency", "lat", "ns", "lower"},
    {"cpu-memory-bw-latency", "bw", "MB/s", "higher"},
    {"cpu-hpl", "time", "s", "lower"},
    {"cpu-hpl", "throughput", "GFLOP/s", "higher"},
    {"disk-benchmark", "iops", "IOPS", "higher"},
    {"disk-benchmark", "lat", "ns", "lower"},
    {"disk-benchmark", "bs", "B/s", "higher"},
    {"pytorch-", "cost", "ms", "lower"},
    {"computation-communication-overlap", "cost", "ms", "lower"},
    {"sharding-matmul", "", "ms", "lower"},
    {"pytorch-sharding-matmul", "", "ms", "lower"},
    {"pytorch-matmul", "", "ms", "lower"},
    {"matmul", "", "ms", "lower"},
    {"monitor", "temperature", "Cel", "none"},
    {"monitor", "power", "W", "none"},
    {"monitor", "usage", "%", "none"},
    {"monitor", "util", "%", "none"},
    {"monitor", "ecc", "count", "lower"},
    {"monitor", "remap", "count", "lower"},
    {"monitor", "bw", "B/s", "none"},
    {"", "steptime", "ms", "lower"},
    {"", "step_time", "ms", "lower"},
    {"", "throughput", "samples/s", "higher"},
};

const Rule& RuleFor(std::string_view benchmark, std::string_view metric) {
  static constexpr Rule kUnknown = {"", "", "1", "none"};
  for (const Rule& rule : kRules) {
    if (benchmark.starts_with(rule.benchmark) && Contains(metric, rule.metric)) return rule;
  }
  return kUnknown;
}

struct Key {
  std::string benchmark;
  std::string metric;
  Labels labels;
};

std::optional<Key> ParseKey(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0) return std::nullopt;
  Key key;
  key.benchmark = text.substr(0, slash);
  std::string metric = text.substr(slash + 1);
  const size_t colon = metric.rfind(':');
  if (colon != std::string::npos && WholeNumber(metric.substr(colon + 1))) {
    key.labels["rank"] = metric.substr(colon + 1);
    metric.resize(colon);
  }
  // Of several runs each has its number; of a group of models each has its name.
  const size_t inner = metric.find('/');
  if (inner != std::string::npos) {
    const std::string part = metric.substr(0, inner);
    key.labels[WholeNumber(part) ? "run" : "model"] = part;
    metric = metric.substr(inner + 1);
  }
  // allreduce_8589934592_busbw: the size is a label.
  static const RE2 sized(R"(([a-z_]+)_(\d+)_(time|algbw|busbw))");
  std::string operation;
  std::string size;
  std::string what;
  if (RE2::FullMatch(metric, sized, &operation, &size, &what)) {
    key.labels["operation"] = operation;
    key.labels["size"] = size;
    metric = what;
  }
  key.labels["benchmark"] = key.benchmark;
  key.metric = metric;
  return key;
}

void ReadEntry(const std::string& name, const Json& value, const std::string& node,
               const JsonDocument& document, Report& report) {
  if (name == "node") return;
  auto key = ParseKey(name);
  if (!key) {
    const bool number = NumberOf(value).kind == NumberKind::kNumber;
    if (number) report.Invalid(document.line, Join({"'", name, "' is not BENCHMARK/METRIC"}));
    return;
  }
  if (!node.empty()) key->labels["node"] = node;
  const Number number = NumberOf(value);
  if (key->metric == "return_code") {
    if (number.kind != NumberKind::kNumber || number.value != 0) {
      report.Failed(document.line, Join({"node '", node, "': '", name, "' is ", ShownJson(value)}));
    }
    return;
  }
  const Rule& rule = RuleFor(key->benchmark, key->metric);
  const MetricKind kind = {key->metric, rule.unit, rule.better};
  if (number.kind == NumberKind::kNumber) {
    report.Add(kind, number.value, key->labels, document.line);
  } else if (number.kind == NumberKind::kMalformed) {
    report.Invalid(document.line, Join({"'", name, "' is no number but ", ShownJson(value)}));
  } else {
    report.Warning(document.line, Join({"'", name, "' has no value on node '", node, "'"}));
  }
}

}  // namespace

void ReadSuperBench(const Options&, Report& report) {
  for (const JsonDocument& document : ReadJsonDocuments(report.text(), "of SuperBench", report)) {
    if (!document.value.is_object()) {
      report.Invalid(document.line, "not the results of one node");
      continue;
    }
    const std::string node = StringIn(document.value, "node");
    report.SetOrigin({.node = node});
    for (const auto& item : document.value.items())
      ReadEntry(item.key(), item.value(), node, document, report);
  }
}

}  // namespace fleetmark::parse
