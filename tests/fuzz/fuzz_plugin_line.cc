// Any line is an event or an error; a metric that is taken is fit for the wire.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/base/ulid.h"
#include "common/model/labels.h"
#include "common/model/series.h"
#include "common/plugin/protocol.h"

namespace {

fleetmark::PluginManifest Manifest(bool dynamic) {
  fleetmark::PluginManifest manifest;
  manifest.metrics = {{"rate", "GB/s", fleetmark::v1::BETTER_HIGHER, 0, {"device"}, true, ""}};
  manifest.dynamic_metrics = dynamic;
  return manifest;
}

void Check(const fleetmark::PluginEvent& event) {
  if (!fleetmark::IsValidUtf8(event.message)) abort();
  if (event.kind != fleetmark::PluginEvent::Kind::kMetric) return;
  fleetmark::v1::Run run;
  run.set_run_id(fleetmark::NewUlid(absl::UnixEpoch()));
  run.set_benchmark("b");
  run.set_plugin("p");
  run.set_outcome(fleetmark::v1::OUTCOME_OK);
  *run.add_metrics() = event.metric;
  if (!fleetmark::CheckRun(run).ok()) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fleetmark::PluginManifest fixed = Manifest(false);
  static const fleetmark::PluginManifest dynamic = Manifest(true);
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  for (const auto* manifest : {&fixed, &dynamic}) {
    const auto event = fleetmark::ParseLine(line, *manifest);
    if (event.ok()) Check(*event);
  }
  return 0;
}
