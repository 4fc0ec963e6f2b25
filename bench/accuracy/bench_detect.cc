// Accuracy of the change detector on synthetic series, as a table in Markdown (docs/detection.md).
//
//   bench_detect [--series N] [--json FILE]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "bench/accuracy/accuracy.h"
#include "bench/accuracy/synthetic_series.h"
#include "collector/detect/change_detector.h"

namespace fleetmark::bench {
namespace {

constexpr uint64_t kSeed = 1000;
constexpr double kSteps[] = {1, 2, 3, 5};

struct Row {
  Family family;
  double false_findings = 0;
  std::vector<StepScore> steps;
};

Row Measure(Family family, size_t series) {
  const collector::ChangeDetector detector;
  Row row{family, FalseFindings(family, detector, series, 200, kSeed), {}};
  for (double step : kSteps) {
    row.steps.push_back(FindStep(family, detector, step, 120, 200, series / 4 + 1, kSeed + 500'000));
  }
  return row;
}

void PrintFamilies(const std::vector<Row>& rows) {
  printf("| family | false per 1,000 | found 1 sd | 2 sd | 3 sd | 5 sd | median delay 2 / 3 / 5 sd |\n");
  printf("|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    printf("| %s | %.2f |", std::string(NameOf(row.family)).c_str(), row.false_findings);
    for (const StepScore& score : row.steps) printf(" %.2f |", score.found);
    printf(" %.0f / %.0f / %.0f |\n", row.steps[1].median_delay, row.steps[2].median_delay,
           row.steps[3].median_delay);
  }
}

// Slow-downs early in a series' life: Gaussian noise, few samples before.
void PrintEarly(size_t series) {
  const collector::ChangeDetector detector;
  printf(
      "\n| samples before | step (sd) | found | within 5 samples | median delay |\n|---|---|---|---|---|\n");
  for (size_t before : {size_t{15}, size_t{20}, size_t{50}}) {
    for (double step : {3.6, 5.0, 8.0, 12.0}) {
      const StepScore score =
          FindStep(Family::kGauss, detector, step, before, before + 15, series, kSeed + 900'000);
      printf("| %zu | %.1f | %.2f | %.2f | %.0f |\n", before, step, score.found, score.within_5,
             score.median_delay);
    }
  }
}

std::string Json(const std::vector<Row>& rows) {
  std::string text = "{\"families\":[";
  for (const Row& row : rows) {
    absl::StrAppend(&text, text.back() == '[' ? "" : ",", "{\"family\":\"", std::string(NameOf(row.family)),
                    "\",\"false_per_1000\":", row.false_findings);
    for (size_t i = 0; i < row.steps.size(); ++i) {
      absl::StrAppend(&text, ",\"found_", kSteps[i], "_sd\":", row.steps[i].found);
    }
    text.append("}");
  }
  return text + "]}\n";
}

int Main(int argc, char** argv) {
  size_t series = 500;
  std::string json_file;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--json") {
      json_file = argv[i + 1];
    } else if (flag != "--series" || !absl::SimpleAtoi(argv[i + 1], &series) || series == 0) {
      fprintf(stderr, "usage: %s [--series N] [--json FILE]\n", argv[0]);
      return 2;
    }
  }
  std::vector<Row> rows;
  for (Family family : kFamilies) rows.push_back(Measure(family, series));
  PrintFamilies(rows);
  PrintEarly(series);
  if (json_file.empty()) return 0;
  std::ofstream out(json_file);
  out << Json(rows);
  return out.good() ? 0 : 1;
}

}  // namespace
}  // namespace fleetmark::bench

int main(int argc, char** argv) { return fleetmark::bench::Main(argc, argv); }
