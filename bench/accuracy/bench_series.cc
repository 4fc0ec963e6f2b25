// Accuracy of the analysis of whole series (common/detect), one fixed configuration for every set, beside
// what others have published; as tables in Markdown (docs/detection.md).
//
//   bench_series DATA [--series N] [--json FILE]
//
// DATA is a folder with tcpd, tcpdbench-published, otava, mozilla-treeherder, mongodb-spa, nyrkio and
// pal-gpu; a set that is not there is left out, and said so. Without DATA ("-") only synthetic series are
// measured.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "bench/accuracy/data_sets.h"
#include "bench/accuracy/scoring.h"
#include "bench/accuracy/synthetic_series.h"
#include "common/detect/series_analysis.h"

namespace fleetmark::bench {
namespace {

constexpr uint64_t kNullSeed = 9'000, kStepSeed = 700'000;
constexpr double kSteps[] = {1, 2, 3, 5};
constexpr size_t kLength = 200, kPlace = 120, kMargin = 5;

using Figures = std::vector<std::pair<std::string, double>>;

Cuts CutsIn(absl::Span<const double> values, bool all_kinds) {
  Cuts cuts;
  for (const detect::SeriesFinding& finding : detect::AnalyseSeries(values, {})) {
    if (all_kinds || finding.kind == detect::Kind::kChange) cuts.push_back(finding.index);
  }
  return cuts;
}

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

void NotThere(const absl::Status& status) {
  printf("(left out: %s)\n", std::string(status.message()).c_str());
}

// --- synthetic
// ----------------------------------------------------------------------------------------------

void MeasureFamily(Family family, size_t count, Figures& figures) {
  const std::string name(NameOf(family));
  size_t false_findings = 0;
  for (size_t i = 0; i < count; ++i) {
    false_findings += CutsIn(MakeSeries(family, kLength, kNullSeed + i), false).size();
  }
  const auto series = static_cast<double>(count);
  const double rate = 1000.0 * static_cast<double>(false_findings) / (series * kLength);
  figures.emplace_back(name + "/false_per_1000", rate);
  printf("| %s | %.3f |", name.c_str(), rate);
  size_t covered = 0, found_at_all = 0;
  for (const double step : kSteps) {
    size_t found = 0;
    for (size_t i = 0; i < count; ++i) {
      std::vector<double> values = MakeSeries(family, kLength, kStepSeed + i);
      for (size_t k = kPlace; k < kLength; ++k) values[k] -= step * kNoise;
      for (const detect::SeriesFinding& f : detect::AnalyseSeries(values, {})) {
        if (f.kind != detect::Kind::kChange || f.index + kMargin < kPlace || f.index > kPlace + kMargin)
          continue;
        ++found;
        ++found_at_all;
        if (f.onset_low <= kPlace && kPlace <= f.onset_high) ++covered;
        break;
      }
    }
    const double share = Share(static_cast<double>(found), series);
    figures.emplace_back(absl::StrCat(name, "/found_", step, "_sd"), share);
    printf(" %.3f |", share);
  }
  const double coverage = Share(static_cast<double>(covered), static_cast<double>(found_at_all));
  figures.emplace_back(name + "/onset_covered", coverage);
  printf(" %.3f |\n", coverage);
}

void MeasureSynthetic(size_t count, Figures& figures) {
  printf("\n## Synthetic: %zu series of %zu samples a cell, a step after %zu, found within %zu\n\n", count,
         kLength, kPlace, kMargin);
  printf("| family | false per 1,000 | 1 sd | 2 sd | 3 sd | 5 sd | onset interval covers |\n");
  printf("|---|---|---|---|---|---|---|\n");
  for (const Family family : kFamilies) MeasureFamily(family, count, figures);
}

// --- real series
// --------------------------------------------------------------------------------------------

void MeasureTcpd(const std::string& data, Figures& figures) {
  printf("\n## Turing Change Point Dataset, univariate series that are here\n\n");
  const auto sets = ReadTcpd(data + "/tcpd");
  auto published = ReadPublished(data + "/tcpdbench-published/published_scores.json");
  if (!sets.ok() || !published.ok()) return NotThere(sets.ok() ? published.status() : sets.status());
  double f1 = 0, covering = 0, count = 0;
  std::map<std::string, std::pair<double, double>> others;
  for (const DataSeries& series : *sets) {
    // The published means leave these out.
    if (series.name == "uk_coal_employ" || series.name.starts_with("quality_control")) continue;
    Cuts cuts;
    for (const size_t cut : CutsIn(series.values, true)) {
      const size_t place = series.places[cut];
      if (place >= 1 && place + 2 <= series.length) cuts.push_back(place);
    }
    f1 += F1Score(series.annotations, cuts, kMargin);
    covering += Covering(series.annotations, cuts, series.length);
    ++count;
    for (const auto& [method, score] : (*published)["default_f1"][series.name]) others[method].first += score;
    for (const auto& [method, score] : (*published)["default_cover"][series.name])
      others[method].second += score;
  }
  printf("| method, default settings, %.0f series | F1 | covering |\n|---|---|---|\n", count);
  printf("| fleetmark | %.3f | %.3f |\n", Share(f1, count), Share(covering, count));
  for (const auto& [method, score] : others) {
    printf("| %s (published) | %.3f | %.3f |\n", method.c_str(), Share(score.first, count),
           Share(score.second, count));
  }
  figures.emplace_back("tcpd/f1", Share(f1, count));
  figures.emplace_back("tcpd/covering", Share(covering, count));
}

void MeasureTalos(const std::string& data, Figures& figures) {
  printf("\n## Talos: changes that Perfherder's tests expect, within 2\n\n");
  const auto sets = ReadTalos(data + "/mozilla-treeherder");
  if (!sets.ok()) return NotThere(sets.status());
  size_t expected = 0, found = 0, said = 0, samples = 0;
  for (const DataSeries& series : *sets) {
    const Cuts cuts = CutsIn(series.values, false);
    expected += series.expected.size();
    found += Matched(series.expected, cuts, 2);
    said += cuts.size();
    samples += series.values.size();
  }
  printf("%zu of %zu found; %zu changes stated in %zu samples\n", found, expected, said, samples);
  figures.emplace_back("talos/found", static_cast<double>(found));
  figures.emplace_back("talos/expected", static_cast<double>(expected));
  figures.emplace_back("talos/stated", static_cast<double>(said));
}

void MeasureBenchmarkSeries(const std::string& data, Figures& figures) {
  printf("\n## Benchmark histories without labels of their own: places of the changes stated\n\n");
  const auto tiger = ReadTigerBeetle(data + "/otava/tigerbeetle.json");
  std::vector<DataSeries> all;
  if (tiger.ok()) {
    all.push_back(*tiger);
    const Cuts cuts = CutsIn(tiger->values, false);
    figures.emplace_back("tigerbeetle/found_of_3", static_cast<double>(Matched(tiger->expected, cuts, 0)));
    figures.emplace_back("tigerbeetle/at_outlier", static_cast<double>(Matched({10}, cuts, 1)));
  }
  for (const char* name : {"real_series", "robust_series", "long_series"}) {
    auto series = ReadNumberList(absl::StrCat(data, "/mongodb-spa/", name, ".json"));
    if (series.ok()) all.push_back(*std::move(series));
  }
  for (const DataSeries& series : all) {
    printf("- %s (%zu samples):", series.name.c_str(), series.length);
    for (const size_t cut : CutsIn(series.values, false)) printf(" %zu", cut);
    printf("\n");
  }
  const auto rocksdb = ReadRocksDb(data + "/nyrkio/rocksdb_2023.csv");
  if (!rocksdb.ok()) return NotThere(rocksdb.status());
  size_t said = 0, samples = 0;
  for (const DataSeries& series : *rocksdb) {
    said += CutsIn(series.values, false).size();
    samples += series.values.size();
  }
  const double rate = 1000 * Share(static_cast<double>(said), static_cast<double>(samples));
  printf("- RocksDB nightly, %zu series: %.2f changes stated per 1,000 samples\n", rocksdb->size(), rate);
  figures.emplace_back("rocksdb/stated_per_1000", rate);
}

// Slow-downs put into real histories between 60 and 75 % of their length; `seen` samples of them are there,
// or all.
double RecallWithInjection(const std::vector<DataSeries>& sets, double size, size_t seen, uint64_t seed) {
  std::mt19937_64 rng(seed);
  size_t found = 0;
  for (const DataSeries& series : sets) {
    std::vector<double> values = series.values;
    const size_t place = values.size() * (60 + rng() % 16) / 100;
    for (size_t i = place; i < values.size(); ++i) values[i] *= 1 + size;
    if (seen != 0) values.resize(std::min(values.size(), place + seen));
    found += Matched({place}, CutsIn(values, false), kMargin);
  }
  return Share(static_cast<double>(found), static_cast<double>(sets.size()));
}

void MeasureGpus(const std::string& data, Figures& figures) {
  printf("\n## Real GPU histories (Longhorn SGEMM, 40 runs and more) with slow-downs put in\n\n");
  const auto sets = ReadGpuHistories(data + "/pal-gpu/aggregated_data/sim/sgemm-longhorn-agg.csv", 40);
  if (!sets.ok()) return NotThere(sets.status());
  size_t said = 0, samples = 0;
  for (const DataSeries& series : *sets) {
    said += CutsIn(series.values, false).size();
    samples += series.values.size();
  }
  const double rate = 1000 * Share(static_cast<double>(said), static_cast<double>(samples));
  printf("%zu GPUs, %zu runs; %.2f changes stated per 1,000 runs without injection\n\n", sets->size(),
         samples, rate);
  figures.emplace_back("gpu/stated_per_1000", rate);
  printf("| runs after the change | 0.2 %% | 0.5 %% | 1 %% | 2 %% |\n|---|---|---|---|---|\n");
  for (const size_t seen : {size_t{3}, size_t{4}, size_t{5}, size_t{8}, size_t{0}}) {
    printf("| %s |", seen == 0 ? "all" : absl::StrCat(seen).c_str());
    for (const double size : {0.002, 0.005, 0.01, 0.02}) {
      const double recall = RecallWithInjection(*sets, size, seen, 5);
      figures.emplace_back(absl::StrCat("gpu/recall_", 100 * size, "_percent_after_", seen), recall);
      printf(" %.2f |", recall);
    }
    printf("\n");
  }
}

int Main(int argc, char** argv) {
  size_t count = 1000;
  std::string data, json_file;
  bool wrong = argc < 2 || argc % 2 != 0;
  if (!wrong) data = argv[1];
  for (int i = 2; i + 1 < argc && !wrong; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--json") {
      json_file = argv[i + 1];
    } else {
      wrong = flag != "--series" || !absl::SimpleAtoi(argv[i + 1], &count) || count == 0;
    }
  }
  if (wrong) {
    fprintf(stderr, "usage: %s DATA|- [--series N] [--json FILE]\n", argv[0]);
    return 2;
  }
  Figures figures;
  if (data != "-") {
    MeasureTcpd(data, figures);
    MeasureTalos(data, figures);
    MeasureBenchmarkSeries(data, figures);
    MeasureGpus(data, figures);
  }
  MeasureSynthetic(count, figures);
  if (json_file.empty()) return 0;
  std::ofstream out(json_file);
  out << "{";
  for (size_t i = 0; i < figures.size(); ++i) {
    out << (i == 0 ? "" : ",") << "\n \"" << figures[i].first << "\": " << figures[i].second;
  }
  out << "\n}\n";
  return out.good() ? 0 : 1;
}

}  // namespace
}  // namespace fleetmark::bench

int main(int argc, char** argv) { return fleetmark::bench::Main(argc, argv); }
