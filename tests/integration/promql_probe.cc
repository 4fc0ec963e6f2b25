// Serves Prometheus' query API over the samples of an OpenMetrics file, for comparison with a real
// Prometheus: promql_probe FILE LOOKBACK
//
// Prints the port, and ends with standard input.
#include <stdio.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"

#include "collector/promql/engine.h"
#include "collector/query/prometheus_routes.h"
#include "common/base/clock.h"
#include "common/exposition/openmetrics.h"
#include "common/http/http_server.h"
#include "tests/fakes/memory_series_source.h"

namespace fleetmark::collector {
namespace {

bool Load(const char* path, promql::MemorySeriesSource* source) {
  std::ifstream file(path);
  OpenMetricsReader reader;
  std::string line;
  while (std::getline(file, line)) {
    const auto sample = reader.Line(line);
    if (!sample.ok()) {
      fprintf(stderr, "%s: %s\n", line.c_str(), sample.status().ToString().c_str());
      return false;
    }
    if (!sample->has_value()) continue;
    const ExpositionSample& one = **sample;
    std::vector<promql::Label> labels = {{std::string(promql::kMetricName), one.name}};
    for (const auto& [name, value] : one.labels) labels.push_back({name, value});
    source->Add(promql::LabelSet(std::move(labels)), {*one.time_unix_ns / 1'000'000, one.value});
  }
  return reader.ended();
}

int Main(int argc, char** argv) {
  promql::MemorySeriesSource source;
  promql::QueryOptions query;
  if (argc != 3 || !absl::ParseDuration(argv[2], &query.lookback) || !Load(argv[1], &source)) return 2;
  const promql::Engine engine({.source = &source, .clock = &RealClock(), .query = query});
  PrometheusRoutes routes({.engine = &engine, .clock = &RealClock(), .version = "probe"});
  HttpServer server(8);
  routes.Register(server);
  const absl::StatusOr<int> port = server.Start("127.0.0.1", 0);
  if (!port.ok()) return 1;
  printf("%d\n", *port);
  fflush(stdout);
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) > 0) {
  }
  server.Stop();
  return 0;
}

}  // namespace
}  // namespace fleetmark::collector

int main(int argc, char** argv) { return fleetmark::collector::Main(argc, argv); }
