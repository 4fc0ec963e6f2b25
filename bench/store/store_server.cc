// store_server FOLDER PORT: the collector's ingest and store, without detection and pages, so that what they
// cost can be told apart. Takes commands on standard input, a line each, and answers each with a line of
// JSON:
//   compact        packs everything and compacts
//   query NODES    times the reads that a dashboard makes, over that many nodes of the load's
//   quit
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

#include "bench/store/fleet_load.h"
#include "collector/control/lease_table.h"
#include "collector/control/plan_book.h"
#include "collector/control/sessions.h"
#include "collector/ingest/committer.h"
#include "collector/ingest/ingest_metrics.h"
#include "collector/ingest/ingest_service.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/model/limits.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kMonthNs = int64_t{30} * 86'400 * 1'000'000'000;
constexpr int kClasses = 50;

double Milliseconds(const std::function<void()>& call, int times) {
  std::vector<double> took;
  for (int i = 0; i < times; ++i) {
    const MonoTime began = RealClock().Mono();
    call();
    took.push_back(absl::ToDoubleMilliseconds(RealClock().Mono() - began));
  }
  std::sort(took.begin(), took.end());
  return took[took.size() / 2];
}

void Require(const absl::Status& status) {
  if (status.ok()) return;
  fprintf(stderr, "store_server: %s\n", status.ToString().c_str());
  std::exit(1);
}

class Queries {
 public:
  explicit Queries(const Store& store) : store_(store) {
    const auto ids = store.Select({LabelMatcher{"metric", LabelMatcher::Op::kEqual, bench::MetricName(0)}});
    Require(ids.status());
    ids_ = *ids;
    for (const LatestSample& latest : store.Latest(ids_)) end_ = std::max(end_, latest.time_unix_ns + 1);
  }

  std::string Run() {
    if (ids_.empty()) return "{}";
    size_t points = 0;
    const double one = Milliseconds([&] { points = OneSeries(); }, 31);
    size_t nodes = 0;
    const double latest = Milliseconds([&] { nodes = LatestOfAll(); }, 11);
    size_t samples = 0;
    const double medians = Milliseconds([&] { samples = MedianByClass(); }, 3);
    return absl::StrCat("{\"one_series_ms\":", one, ",\"points\":", points, ",\"latest_ms\":", latest,
                        ",\"nodes\":", nodes, ",\"class_medians_ms\":", medians, ",\"samples\":", samples,
                        "}");
  }

 private:
  size_t OneSeries() const {
    size_t points = 0;
    Require(store_.ScanSamples(ids_[ids_.size() / 2], end_ - kMonthNs, end_, [&points](const v1::Sample&) {
      ++points;
      return true;
    }));
    return points;
  }

  size_t LatestOfAll() const {
    const auto ids = store_.Select({LabelMatcher{"metric", LabelMatcher::Op::kEqual, bench::MetricName(0)}});
    Require(ids.status());
    return store_.Latest(*ids).size();
  }

  // The median of every step of each class of nodes, over all samples of 30 days.
  size_t MedianByClass() const {
    constexpr int64_t kStepNs = bench::kStepMs * 1'000'000;
    const auto steps = static_cast<size_t>(kMonthNs / kStepNs) + 1;
    size_t samples = 0;
    double sum = 0;
    std::vector<std::vector<double>> by_step(steps);
    for (size_t group = 0; group < kClasses; ++group) {
      std::vector<uint64_t> ids;
      for (size_t i = group; i < ids_.size(); i += kClasses) ids.push_back(ids_[i]);
      for (auto& values : by_step) values.clear();
      Require(store_.ScanValues(
          ids, end_ - kMonthNs, end_,
          [&](uint64_t, absl::Span<const int64_t> times, absl::Span<const double> values) {
            for (size_t i = 0; i < times.size(); ++i) {
              by_step[static_cast<size_t>((times[i] - (end_ - kMonthNs)) / kStepNs)].push_back(values[i]);
            }
            samples += times.size();
            return true;
          }));
      for (auto& values : by_step) {
        if (values.empty()) continue;
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        sum += *middle;
      }
    }
    return sum > 0 ? samples : 0;
  }

  const Store& store_;
  std::vector<uint64_t> ids_;
  int64_t end_ = 0;
};

std::string Execute(const std::string& command, Store* store) {
  if (command == "compact") {
    Require(store->Compact());
    const auto counts = store->Counts();
    Require(counts.status());
    std::string families;
    for (const auto& [name, bytes] : counts->bytes_by_family) {
      absl::StrAppend(&families, ",\"", name, "\":", bytes);
    }
    return absl::StrCat("{\"disk_bytes\":", counts->disk_bytes, ",\"samples\":", counts->samples,
                        ",\"series\":", counts->series, families, "}");
  }
  if (command == "query") return Queries(*store).Run();
  return "{}";
}

int Main(const std::string& folder, const std::string& port) {
  // As the collector's main does.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  Store::Options options;
  options.folder = folder;
  const MonoTime began = RealClock().Mono();
  auto store = Store::Open(options);
  Require(store.status());
  const double open_seconds = absl::ToDoubleSeconds(RealClock().Mono() - began);
  Metrics metrics;
  IngestMetrics ingest_metrics(metrics);
  Sessions sessions(Sessions::Options{}, RealClock());
  LeaseTable leases(LeaseTable::Options{}, metrics, RealClock());
  Committer committer(
      Committer::Options{},
      [&store](absl::Span<const SenderRecords> batch) { return (*store)->Commit(batch); }, nullptr,
      RealClock(), ingest_metrics);
  PlanBook plans({});
  IngestService ingest(IngestService::Options{}, **store, committer, sessions, leases, plans, ingest_metrics,
                       RealClock());
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kMessageBytes));
  builder.RegisterService(ingest.service());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  printf("{\"open_seconds\":%.3f}\n", open_seconds);
  fflush(stdout);
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    printf("%s\n", Execute(line, store->get()).c_str());
    fflush(stdout);
  }
  ingest.Stop();
  server->Shutdown();
  server->Wait();
  committer.Stop();
  return 0;
}

}  // namespace
}  // namespace fleetmark::collector

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s FOLDER PORT\n", argv[0]);
    return 2;
  }
  return fleetmark::collector::Main(argv[1], argv[2]);
}
