// False alerts a week of fleets in which nothing changes, as a table in Markdown (docs/detection-fleet.md).
//
//   bench_fleet_budget [--weeks N] [--json FILE]
//
// `weeks`: of the largest fleet, 1,000,000 series; smaller ones get more. About two seconds a week.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "bench/fleet/null_fleet.h"

namespace fleetmark::bench {
namespace {

struct Row {
  size_t series;
  size_t weeks;
  double per_week;
  FalseAlerts alerts;
};

int Main(int argc, char** argv) {
  size_t weeks = 50;
  std::string json;
  for (int i = 1; i < argc; i += 2) {
    const bool value = i + 1 < argc;
    if (value && std::strcmp(argv[i], "--json") == 0) {
      json = argv[i + 1];
    } else if (!value || std::strcmp(argv[i], "--weeks") != 0 || !absl::SimpleAtoi(argv[i + 1], &weeks) ||
               weeks == 0) {
      fprintf(stderr, "usage: %s [--weeks N] [--json FILE]\n", argv[0]);
      return 2;
    }
  }
  std::vector<Row> rows = {{100, 400 * weeks, 1, {}}, {10'000, 20 * weeks, 1, {}}, {1'000'000, weeks, 1, {}}};
  std::string out = "[";
  for (Row& row : rows) {
    row.alerts = FalseAlertsOfSeries(row.series, row.weeks, row.per_week, 11);
    const double low = row.alerts.mean - 1.96 * row.alerts.standard_error;
    const double high = row.alerts.mean + 1.96 * row.alerts.standard_error;
    printf("| %zu | %g | %zu | %.3f | %.3f to %.3f | %g |\n", row.series, row.per_week, row.weeks,
           row.alerts.mean, low, high, row.alerts.allowed);
    fflush(stdout);
    absl::StrAppend(&out, out.size() > 1 ? "," : "", "{\"series\":", row.series, ",\"weeks\":", row.weeks,
                    ",\"per_week\":", row.per_week, ",\"false_alerts\":", row.alerts.mean,
                    ",\"standard_error\":", row.alerts.standard_error, ",\"allowed\":", row.alerts.allowed,
                    "}");
  }
  if (!json.empty()) std::ofstream(json) << out << "]\n";
  return 0;
}

}  // namespace
}  // namespace fleetmark::bench

int main(int argc, char** argv) { return fleetmark::bench::Main(argc, argv); }
