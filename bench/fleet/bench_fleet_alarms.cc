// Alerts of a simulated fleet in which nothing changes, through the real store and all detections: what the
// budget of false alarms makes of the p-values that the detectors really give (docs/detection-fleet.md).
//
//   bench_fleet_alarms FOLDER [--nodes N] [--weeks N] [--correlation PERCENT] [--json FILE]
//
// One run of one series a node and hour, looked at every six hours. Prints a row of Markdown.
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "collector/detect/change_detector.h"
#include "collector/detect/detection_loop.h"
#include "collector/fleet/fleet_detection.h"
#include "collector/store/store.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fleet_simulator.h"

namespace fleetmark::bench {
namespace {

struct Arguments {
  std::string folder, json;
  size_t nodes = 100;
  size_t weeks = 10;
  int correlation = 0;
};

bool Parse(int argc, char** argv, Arguments* out) {
  if (argc < 2 || argc % 2 != 0) return false;
  out->folder = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--json") {
      out->json = value;
    } else if (!(flag == "--nodes" && absl::SimpleAtoi(value, &out->nodes)) &&
               !(flag == "--weeks" && absl::SimpleAtoi(value, &out->weeks)) &&
               !(flag == "--correlation" && absl::SimpleAtoi(value, &out->correlation))) {
      return false;
    }
  }
  return true;
}

// Findings by kind: all, and those within the budget.
struct Count {
  size_t findings = 0;
  size_t alerts = 0;
};
std::map<std::string, Count> CountFindings(const collector::Store& store) {
  std::map<std::string, Count> counts;
  v1::ListFindingsRequest filter;
  filter.set_top_level(true);
  collector::Page page;
  do {
    const auto findings = store.ListFindings(filter, page, &page.token);
    if (!findings.ok()) return counts;
    for (const v1::Finding& finding : *findings) {
      Count& count = counts[v1::Finding::Kind_Name(finding.kind())];
      ++count.findings;
      if (finding.budget().within()) ++count.alerts;
    }
  } while (!page.token.empty());
  return counts;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    fprintf(stderr, "usage: %s FOLDER [--nodes N] [--weeks N] [--correlation PERCENT] [--json FILE]\n",
            argv[0]);
    return 2;
  }
  collector::Store::Options store_options;
  store_options.folder = arguments.folder;
  auto store = collector::Store::Open(store_options);
  if (!store.ok()) {
    fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  InitLog({.level = LogLevel::kError});
  FakeClock clock;
  Metrics metrics;
  collector::FleetSimulator fleet(**store,
                                  {.nodes = arguments.nodes, .correlation = arguments.correlation / 100.0});
  fleet.RegisterAll();
  collector::DetectionLoop::Options series_options;
  series_options.store = store->get();
  series_options.clock = &clock;
  series_options.metrics = &metrics;
  series_options.detectors = {std::make_shared<collector::ChangeDetector>()};
  collector::DetectionLoop series(std::move(series_options));
  collector::FleetDetection::Options fleet_options;
  fleet_options.store = store->get();
  fleet_options.clock = &clock;
  fleet_options.metrics = &metrics;
  fleet_options.fill_live = [](v1::Node* node) { node->set_state(v1::NODE_STATE_CONNECTED); };
  collector::FleetDetection detection(std::move(fleet_options));
  for (size_t step = 0; step < arguments.weeks * 28; ++step) {
    fleet.Run(clock.Now(), clock.Now() + absl::Hours(6));
    clock.Advance(absl::Hours(6));
    series.RunOnce();
    if (const absl::Status status = detection.RunOnce(); !status.ok()) {
      fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  std::string kinds;
  size_t findings = 0, alerts = 0;
  for (const auto& [kind, count] : CountFindings(**store)) {
    findings += count.findings;
    alerts += count.alerts;
    absl::StrAppend(&kinds, kinds.empty() ? "" : ", ", kind, " ", count.alerts, " of ", count.findings);
  }
  printf("| %zu | %zu | %d %% | %zu | %zu | %.3f | %s |\n", arguments.nodes, arguments.weeks,
         arguments.correlation, findings, alerts,
         static_cast<double>(alerts) / static_cast<double>(arguments.weeks), kinds.c_str());
  if (!arguments.json.empty()) {
    std::ofstream(arguments.json) << absl::StrFormat(
        "{\"series\":%d,\"weeks\":%d,\"correlation\":%g,\"findings\":%d,\"alerts\":%d}\n", arguments.nodes,
        arguments.weeks, arguments.correlation / 100.0, findings, alerts);
  }
  return 0;
}

}  // namespace
}  // namespace fleetmark::bench

int main(int argc, char** argv) { return fleetmark::bench::Main(argc, argv); }
