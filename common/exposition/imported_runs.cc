#include "common/exposition/imported_runs.h"

#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/model/series.h"
#include "common/model/unit_words.h"
#include "common/model/units.h"

namespace fleetmark {
namespace {

constexpr char kPlugin[] = "import";

std::string LabelOf(const std::map<std::string, std::string>& labels, const char* name) {
  const auto it = labels.find(name);
  return it == labels.end() ? std::string() : it->second;
}

std::string FirstOf(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return {};
}

// "host:9100" is "host"; an IPv6 address in brackets is no name of a node, and is refused later.
std::string WithoutPort(const std::string& instance) { return instance.substr(0, instance.find(':')); }

bool IsOwnLabel(const std::string& name) {
  return name == "node" || name == "instance" || name == "benchmark" || name == "job" || name == "plugin" ||
         name == "plugin_version" || name == "params" || absl::StartsWith(name, "node_");
}

// A name as identifiers are here: small letters, and a letter first.
std::string AsIdentifier(const std::string& name) {
  std::string out = absl::AsciiStrToLower(Underscored(name));
  if (out.empty() || !absl::ascii_islower(static_cast<unsigned char>(out[0]))) out.insert(0, "m_");
  return out;
}

}  // namespace

absl::StatusOr<ImportedMetric> FromSample(const ExpositionSample& sample, const ImportDefaults& defaults) {
  ImportedMetric out;
  out.node = FirstOf(
      {LabelOf(sample.labels, "node"), WithoutPort(LabelOf(sample.labels, "instance")), defaults.node});
  if (out.node.empty()) {
    return absl::InvalidArgumentError("has neither a label node nor instance, and no node is given for such");
  }
  out.benchmark = FirstOf(
      {LabelOf(sample.labels, "benchmark"), LabelOf(sample.labels, "job"), defaults.benchmark, "imported"});
  if (!sample.time_unix_ns.has_value()) return absl::InvalidArgumentError("has no time");
  out.time_unix_ns = *sample.time_unix_ns;
  out.value = sample.value;
  out.unit = std::string(UnitOfName(sample.name));
  out.metric = AsIdentifier(sample.name);
  const std::string own = absl::StrCat("fleetmark_", Underscored(out.benchmark), "_");
  if (absl::StartsWith(sample.name, own) && !out.unit.empty()) {
    out.metric = std::string(absl::StripSuffix(sample.name.substr(own.size()), "_" + UnitWords(out.unit)));
  }
  for (const auto& [name, value] : sample.labels) {
    if (IsOwnLabel(name) || value.empty()) continue;
    const std::string plain = absl::StartsWith(name, "metric_") ? name.substr(7) : name;
    out.labels.emplace(AsIdentifier(plain), value);
  }
  return out;
}

absl::Status ImportedRuns::Add(const ImportedMetric& metric, size_t line) {
  FM_RETURN_IF_ERROR(Annotate(CheckNodeName(metric.node), "node"));
  FM_RETURN_IF_ERROR(CheckBenchmarkName("benchmark", metric.benchmark));
  if (metric.time_unix_ns <= 0) return absl::InvalidArgumentError("the time must be after 1970");
  v1::Metric made;
  made.set_name(metric.metric);
  made.set_unit(metric.unit.empty() ? "1" : metric.unit);
  made.set_value(metric.value);
  made.set_better(metric.better);
  made.mutable_labels()->insert(metric.labels.begin(), metric.labels.end());

  Run& entry = runs_[{metric.node, metric.benchmark, metric.time_unix_ns}];
  v1::NodeRun candidate = entry.run;
  v1::Run& run = *candidate.mutable_run();
  candidate.set_node(metric.node);
  run.set_run_id(UlidFromSeed(absl::FromUnixNanos(metric.time_unix_ns), ""));  // until Take
  run.set_benchmark(metric.benchmark);
  run.set_plugin(kPlugin);
  run.set_outcome(v1::OUTCOME_OK);
  run.set_ending(v1::ENDING_DONE);
  run.set_trigger(v1::TRIGGER_IMPORT);
  run.set_started_unix_ns(metric.time_unix_ns);
  *run.add_metrics() = std::move(made);
  if (const absl::Status checked = CheckRun(run); !checked.ok()) {
    if (entry.run.run().metrics().empty()) runs_.erase({metric.node, metric.benchmark, metric.time_unix_ns});
    return checked;
  }
  if (entry.run.run().metrics().empty()) entry.line = line;
  entry.run = std::move(candidate);
  ++metrics_;
  return absl::OkStatus();
}

std::vector<ImportedRuns::Run> ImportedRuns::Take() {
  std::vector<Run> out;
  for (auto& [key, entry] : runs_) {
    v1::Run& run = *entry.run.mutable_run();
    std::string seed = absl::StrCat(entry.run.node(), "\n", run.benchmark(), "\n", run.started_unix_ns());
    for (const v1::Metric& metric : run.metrics()) {
      absl::StrAppend(&seed, "\n", CanonicalText(SeriesKeyOf(entry.run.node(), run, metric)), "\n",
                      std::bit_cast<uint64_t>(metric.value()));
    }
    run.set_run_id(UlidFromSeed(absl::FromUnixNanos(run.started_unix_ns()), seed));
    out.push_back(std::move(entry));
  }
  runs_.clear();
  metrics_ = 0;
  return out;
}

}  // namespace fleetmark
