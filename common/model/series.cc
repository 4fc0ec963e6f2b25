#include "common/model/series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/model/units.h"

namespace fleetmark {
namespace {

Labels SortedLabels(const google::protobuf::Map<std::string, std::string>& map) {
  return Labels(map.begin(), map.end());
}

std::string Field(const char* list, int index, const char* field) {
  return absl::StrCat(list, "[", index, "].", field);
}

// Naming the field costs more than checking it, so it is named only when something is wrong with it.
absl::Status InMetric(int index, const char* field, const absl::Status& status) {
  return status.ok() ? status : Annotate(status, Field("metrics", index, field));
}

absl::Status CheckMetric(const v1::Metric& metric, int index) {
  FM_RETURN_IF_ERROR(InMetric(index, "name", CheckIdentifier("metric", metric.name())));
  FM_RETURN_IF_ERROR(InMetric(index, "unit", CheckUnit(metric.unit())));
  if (!std::isfinite(metric.value())) {
    return absl::InvalidArgumentError(absl::StrCat(Field("metrics", index, "value"), " is not finite"));
  }
  if (!std::isfinite(metric.relative_spread()) || metric.relative_spread() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(Field("metrics", index, "relative_spread"), " must be finite and not negative"));
  }
  if (metric.labels().size() > limits::kLabelsPerMetric) {
    return absl::InvalidArgumentError(absl::StrCat(Field("metrics", index, "labels"), " has ",
                                                   metric.labels().size(), " entries, at most ",
                                                   limits::kLabelsPerMetric, " are allowed"));
  }
  for (const auto& [name, value] : metric.labels()) {
    FM_RETURN_IF_ERROR(InMetric(index, "labels", CheckIdentifier("label name", name)));
    FM_RETURN_IF_ERROR(InMetric(index, "labels", CheckText("label value", value, limits::kLabelValueBytes)));
  }
  return absl::OkStatus();
}

// In the order of what tells a run's series apart.
bool Before(const v1::Metric& a, const v1::Metric& b) {
  if (const int order = a.name().compare(b.name()); order != 0) return order < 0;
  if (const int order = a.unit().compare(b.unit()); order != 0) return order < 0;
  if (a.labels().empty() || b.labels().empty()) return a.labels().size() < b.labels().size();
  return SortedLabels(a.labels()) < SortedLabels(b.labels());
}

absl::Status CheckNoneTwice(const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  std::vector<const v1::Metric*> sorted;
  sorted.reserve(static_cast<size_t>(metrics.size()));
  for (const v1::Metric& metric : metrics) sorted.push_back(&metric);
  const auto before = [](const v1::Metric* a, const v1::Metric* b) { return Before(*a, *b); };
  if (!std::is_sorted(sorted.begin(), sorted.end(), before)) std::sort(sorted.begin(), sorted.end(), before);
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (Before(*sorted[i - 1], *sorted[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("metrics give '", sorted[i]->name(), "' with the same labels twice"));
  }
  return absl::OkStatus();
}

absl::Status CheckCount(const char* field, int size, size_t max) {
  if (static_cast<size_t>(size) <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", size, " entries, at most ", max, " are allowed"));
}

}  // namespace

v1::SeriesKey SeriesKeyOf(const std::string& node, const v1::Run& run, const v1::Metric& metric) {
  v1::SeriesKey key;
  key.set_node(node);
  key.set_benchmark(run.benchmark());
  key.set_metric(metric.name());
  key.set_unit(metric.unit());
  *key.mutable_labels() = metric.labels();
  key.set_plugin(run.plugin());
  key.set_plugin_version(run.plugin_version());
  key.set_params_digest(run.params_digest());
  return key;
}

std::string CanonicalText(const v1::SeriesKey& key) {
  std::string text;
  const auto add = [&text](const std::string& field) {
    text.append(field);
    text.push_back('\0');
  };
  add(key.node());
  add(key.benchmark());
  add(key.metric());
  add(key.unit());
  add(key.plugin());
  add(key.plugin_version());
  add(key.params_digest());
  for (const auto& [name, value] : SortedLabels(key.labels())) {
    add(name);
    add(value);
  }
  return text;
}

std::string DisplayName(const v1::SeriesKey& key) {
  std::string text = absl::StrCat(key.node(), "/", key.benchmark(), " ", key.metric());
  const char* separator = "{";
  for (const auto& [name, value] : SortedLabels(key.labels())) {
    absl::StrAppend(&text, separator, name, "=\"", value, "\"");
    separator = ",";
  }
  if (!key.labels().empty()) text.push_back('}');
  return text;
}

absl::Status CheckRun(const v1::Run& run) {
  if (!IsUlid(run.run_id())) return absl::InvalidArgumentError("run_id must be a ULID of 26 characters");
  FM_RETURN_IF_ERROR(CheckBenchmarkName("benchmark", run.benchmark()));
  FM_RETURN_IF_ERROR(CheckIdentifier("plugin", run.plugin()));
  FM_RETURN_IF_ERROR(CheckText("plugin_version", run.plugin_version(), limits::kVersionBytes));
  FM_RETURN_IF_ERROR(CheckText("params_json", run.params_json(), limits::kParamsJsonBytes));
  FM_RETURN_IF_ERROR(CheckText("params_digest", run.params_digest(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("reason", run.reason(), limits::kReasonBytes));
  FM_RETURN_IF_ERROR(CheckText("request_id", run.request_id(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("log_tail", run.log_tail(), limits::kLogTailBytes));
  FM_RETURN_IF_ERROR(CheckText("facts_digest", run.facts_digest(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("suite", run.suite(), limits::kNameBytes));
  if (!v1::Outcome_IsValid(run.outcome()) || run.outcome() == v1::OUTCOME_UNSPECIFIED) {
    return absl::InvalidArgumentError("outcome is not set to a known value");
  }
  if (!std::isfinite(run.duration_seconds()) || run.duration_seconds() < 0) {
    return absl::InvalidArgumentError("duration_seconds must be finite and not negative");
  }
  if (run.scheduled_unix_ns() < 0 || run.started_unix_ns() < 0) {
    return absl::InvalidArgumentError("scheduled_unix_ns and started_unix_ns must not be negative");
  }
  FM_RETURN_IF_ERROR(CheckCount("metrics", run.metrics_size(), limits::kMetricsPerRun));
  FM_RETURN_IF_ERROR(CheckCount("warnings", run.warnings_size(), limits::kWarningsPerRun));
  FM_RETURN_IF_ERROR(CheckCount("notes", run.notes_size(), limits::kNotesPerRun));
  FM_RETURN_IF_ERROR(
      CheckCount("conditions", static_cast<int>(run.conditions().size()), limits::kConditionsPerRun));
  for (const std::string& text : run.warnings()) {
    FM_RETURN_IF_ERROR(CheckText("warnings", text, limits::kReasonBytes));
  }
  for (const std::string& text : run.notes()) {
    FM_RETURN_IF_ERROR(CheckText("notes", text, limits::kReasonBytes));
  }
  for (const auto& [name, value] : run.conditions()) {
    FM_RETURN_IF_ERROR(CheckText("condition name", name, limits::kFactNameBytes));
    FM_RETURN_IF_ERROR(CheckText("condition value", value, limits::kFactValueBytes));
  }
  for (int i = 0; i < run.metrics_size(); ++i) FM_RETURN_IF_ERROR(CheckMetric(run.metrics(i), i));
  return CheckNoneTwice(run.metrics());
}

absl::Status CheckEvent(const v1::Event& event) {
  if (!IsUlid(event.event_id()))
    return absl::InvalidArgumentError("event_id must be a ULID of 26 characters");
  if (event.time_unix_ns() < 0) return absl::InvalidArgumentError("time_unix_ns must not be negative");
  FM_RETURN_IF_ERROR(CheckText("subject", event.subject(), limits::kFactNameBytes));
  FM_RETURN_IF_ERROR(CheckText("old_value", event.old_value(), limits::kEventTextBytes));
  FM_RETURN_IF_ERROR(CheckText("new_value", event.new_value(), limits::kEventTextBytes));
  FM_RETURN_IF_ERROR(CheckText("message", event.message(), limits::kEventTextBytes));
  FM_RETURN_IF_ERROR(CheckText("author", event.author(), limits::kLabelValueBytes));
  if (!event.node().empty()) FM_RETURN_IF_ERROR(CheckNodeName(event.node()));
  return absl::OkStatus();
}

}  // namespace fleetmark
