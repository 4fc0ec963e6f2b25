// What a pass over a simulated fleet costs in CPU time, on a real store (docs/detection-fleet.md): the first
// one, which reads everything and compares peers, and an ordinary one after another hour of runs.
//
//   bench_fleet_pass FOLDER [--nodes N] [--devices N] [--json FILE]
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

#include "collector/fleet/fleet_detection.h"
#include "collector/store/store.h"
#include "common/obs/metrics.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fleet_simulator.h"

namespace fleetmark::bench {
namespace {

// Of all threads of the process, so that other work on the machine does not count.
double CpuSeconds() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// -1: it failed.
double TimePass(collector::FleetDetection& detection) {
  const double start = CpuSeconds();
  const absl::Status status = detection.RunOnce();
  if (!status.ok()) fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? CpuSeconds() - start : -1;
}

int Main(int argc, char** argv) {
  size_t nodes = 10'000, devices = 0;
  std::string folder, json;
  bool bad = argc < 2;
  if (!bad) folder = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 >= argc) {
      bad = true;
    } else if (flag == "--json") {
      json = argv[i + 1];
    } else if (!(flag == "--nodes" && absl::SimpleAtoi(argv[i + 1], &nodes)) &&
               !(flag == "--devices" && absl::SimpleAtoi(argv[i + 1], &devices))) {
      bad = true;
    }
  }
  if (bad) {
    fprintf(stderr, "usage: %s FOLDER [--nodes N] [--devices N] [--json FILE]\n", argv[0]);
    return 2;
  }
  collector::Store::Options store_options;
  store_options.folder = folder;
  auto store = collector::Store::Open(store_options);
  if (!store.ok()) {
    fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  FakeClock clock;
  Metrics metrics;
  collector::FleetSimulator fleet(**store, {.nodes = nodes, .devices = devices});
  fleet.RegisterAll();
  fleet.Run(clock.Now(), clock.Now() + absl::Hours(24));
  clock.Advance(absl::Hours(24));
  collector::FleetDetection::Options options;
  options.store = store->get();
  options.clock = &clock;
  options.metrics = &metrics;
  options.fill_live = [](v1::Node* node) { node->set_state(v1::NODE_STATE_CONNECTED); };
  collector::FleetDetection detection(options);
  const double first = TimePass(detection);
  fleet.Run(clock.Now(), clock.Now() + absl::Hours(1));
  clock.Advance(absl::Minutes(1));
  const double busy = TimePass(detection);
  clock.Advance(absl::Minutes(1));
  const double quiet = TimePass(detection);
  if (first < 0 || busy < 0 || quiet < 0) return 1;
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const size_t series = (*store)->Counts()->series;
  printf("| %zu | %zu | %.2f s | %.2f s | %.2f s | %ld MiB |\n", nodes, series, first, busy, quiet,
         usage.ru_maxrss / 1024);
  if (!json.empty()) {
    std::ofstream(json) << absl::StrFormat(
        "{\"nodes\":%d,\"series\":%d,\"first_seconds\":%g,\"all_ran_seconds\":%g,\"quiet_seconds\":%g,"
        "\"peak_rss_bytes\":%d}\n",
        nodes, series, first, busy, quiet, usage.ru_maxrss * 1024);
  }
  return 0;
}

}  // namespace
}  // namespace fleetmark::bench

int main(int argc, char** argv) { return fleetmark::bench::Main(argc, argv); }
