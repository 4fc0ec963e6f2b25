#include "common/run/check.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/series.h"
#include "common/plugin/catalog.h"
#include "common/plugin/json_text.h"
#include "common/plugin/params.h"
#include "common/run/plugin_run.h"

namespace fleetmark {
namespace {

constexpr char kBenchmark[] = "self_check";

void Good(PluginCheck& check, std::string text) { check.lines.push_back({true, std::move(text)}); }
void Bad(PluginCheck& check, std::string text) { check.lines.push_back({false, std::move(text)}); }

void AddFaults(PluginCheck& check, const absl::Status& status) {
  for (absl::string_view fault : absl::StrSplit(status.message(), '\n')) Bad(check, std::string(fault));
}

// What to do about an outcome that is not OK.
std::string Advice(const v1::Run& run) {
  switch (run.outcome()) {
    case v1::OUTCOME_INVALID:
      return "the program ended well but its lines don't fit its manifest; change one of the two";
    case v1::OUTCOME_TIMEOUT:
      return "choose smaller self_check.params or a longer self_check.timeout";
    case v1::OUTCOME_SKIPPED:
      return "the plugin works, but not on this machine";
    case v1::OUTCOME_FAILED:
      return run.exit_status() == 0 && run.signal() == 0
                 ? "the last line must be {\"type\":\"done\"}; see docs/plugin-protocol.md §3"
                 : "its log is below; a plugin exits with 0 only after 'done'";
    default:
      return "";
  }
}

std::string MetricLine(const v1::Metric& metric) {
  v1::SeriesKey key;
  key.set_metric(metric.name());
  *key.mutable_labels() = metric.labels();
  std::string name = DisplayName(key);
  name.erase(0, name.find(' ') + 1);
  std::string text =
      absl::StrCat("metric ", name, " = ", CanonicalNumber(metric.value()), " ", metric.unit());
  if (metric.repetitions() > 0) {
    absl::StrAppend(&text, ", median of ", metric.repetitions(), ", relative spread ",
                    metric.relative_spread());
  }
  return text;
}

void Judge(const PluginManifest& manifest, PluginCheck& check) {
  const v1::Run& run = check.run;
  std::set<std::string> seen;
  for (const v1::Metric& metric : run.metrics()) {
    Good(check, MetricLine(metric));
    seen.insert(metric.name());
  }
  for (const MetricSpec& metric : manifest.metrics) {
    if (seen.count(metric.name) == 0 && !metric.required)
      Good(check, absl::StrCat("optional metric ", metric.name, " did not come"));
  }
  for (const std::string& warning : run.warnings()) Good(check, absl::StrCat("warning: ", warning));
  if (run.outcome() == v1::OUTCOME_OK) {
    Good(check, absl::StrCat("run: ok in ", absl::FormatDuration(absl::Seconds(run.duration_seconds()))));
    return;
  }
  std::string text = absl::StrCat("run: ", run.reason());
  const std::string advice = Advice(run);
  if (!advice.empty()) absl::StrAppend(&text, "; ", advice);
  check.lines.push_back({run.outcome() == v1::OUTCOME_SKIPPED, text});
}

}  // namespace

bool PluginCheck::ok() const {
  return std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.ok; });
}

PluginCheck CheckPlugin(const std::string& folder, const std::string& work_root, Runner& runner, Clock& clock,
                        CancelToken& cancel) {
  PluginCheck check;
  absl::StatusOr<InstalledPlugin> plugin = LoadPlugin(folder);
  if (!plugin.ok()) {
    AddFaults(check, plugin.status());
    return check;
  }
  const PluginManifest& manifest = plugin->manifest;
  Good(check, absl::StrCat("manifest: ", manifest.name, " ", manifest.version, ", ", manifest.params.size(),
                           " parameters, ", manifest.metrics.size(), " metrics"));
  Good(check, absl::StrCat("program: ", plugin->program));
  Good(check, absl::StrCat("digest: ", plugin->digest));
  absl::StatusOr<ResolvedParams> params = ResolveParams(manifest, manifest.self_check.params_json);
  if (!params.ok()) {
    Bad(check, absl::StrCat("self_check.params: ", Message(params.status())));
    return check;
  }
  PluginRunSpec spec;
  spec.timeout = manifest.self_check.timeout;
  spec.plugin = *std::move(plugin);
  spec.params = *std::move(params);
  spec.benchmark = kBenchmark;
  spec.trigger = v1::TRIGGER_MANUAL;
  spec.scheduled = clock.Now();
  spec.run_id = NewUlid(spec.scheduled);
  spec.work_root = work_root;
  check.run = RunPlugin(spec, runner, clock, cancel, [](double, std::string_view) {});
  Judge(spec.plugin.manifest, check);
  return check;
}

}  // namespace fleetmark
