// How many runs of 20 metrics one committer stores durably in a second. Batches of `--batch` runs from 200
// nodes are offered as fast as the committer takes them, every commit synced.
//
// usage: committer_rate FOLDER [--runs N] [--batch N] [--json FILE]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "collector/ingest/committer.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

constexpr int kMetrics = 20;
constexpr int kNodes = 200;
constexpr int64_t kStartNs = 1'790'000'000'000'000'000;
constexpr int64_t kStepNs = 900'000'000'000;

struct Arguments {
  std::string folder;
  int runs = 40'000;
  int batch = 1;
  std::string json;
};

v1::Record MakeRecord(int step) {
  v1::Record record;
  record.set_sequence(static_cast<uint64_t>(step) + 1);
  v1::Run& run = *record.mutable_run();
  run.set_started_unix_ns(kStartNs + step * kStepNs);
  run.set_run_id(NewUlid(absl::FromUnixNanos(run.started_unix_ns())));
  run.set_benchmark("stream_all");
  run.set_plugin("stream");
  run.set_plugin_version("1.0.0");
  run.set_params_digest("0011223344556677");
  run.set_outcome(v1::OUTCOME_OK);
  run.set_log_tail(std::string(300, 'x'));
  for (int i = 0; i < kMetrics; ++i) {
    v1::Metric& metric = *run.add_metrics();
    metric.set_name(absl::StrCat("metric_", i));
    metric.set_unit("GB/s");
    metric.set_better(v1::BETTER_HIGHER);
    metric.set_value(100 + (step * 31 + i * 17) % 97 * 0.01);
  }
  return record;
}

// Offers everything and waits for it to be durable; the seconds that took.
double Run(const Arguments& args, Store& store) {
  Metrics registry;
  IngestMetrics metrics(registry);
  Committer committer(
      Committer::Options{}, [&store](absl::Span<const SenderRecords> batch) { return store.Commit(batch); },
      nullptr, RealClock(), metrics);
  std::vector<std::shared_ptr<Committer::Lane>> lanes;
  for (int i = 0; i < kNodes; ++i) lanes.push_back(std::make_shared<Committer::Lane>());
  std::vector<Committer::Offer> offers;
  for (int run = 0; run < args.runs; run += args.batch) {
    const int round = run / args.batch;
    const int node = round % kNodes;
    Committer::Offer& offer = offers.emplace_back();
    offer.lane = lanes[static_cast<size_t>(node)];
    offer.records = {absl::StrCat("node", node), std::string(32, '0'), {}};
    for (int i = 0; i < args.batch; ++i) {
      offer.records.records.push_back(MakeRecord(round / kNodes * args.batch + i));
      offer.bytes += offer.records.records.back().ByteSizeLong();
    }
    offer.done = [](const absl::Status& status) {
      if (!status.ok()) {
        fprintf(stderr, "%s\n", status.ToString().c_str());
        std::exit(1);
      }
    };
  }
  Mutex mu;
  CondVar changed;
  bool room = true;
  const MonoTime began = RealClock().Mono();
  for (Committer::Offer& offer : offers) {
    const auto on_room = [&] {
      MutexLock lock(mu);
      room = true;
      changed.NotifyAll();
    };
    room = false;
    while (!committer.TryOffer(std::move(offer), on_room)) {
      MutexLock lock(mu);
      while (!room) changed.Wait(mu);
      room = false;
    }
  }
  committer.Stop();
  return absl::ToDoubleSeconds(RealClock().Mono() - began);
}

int Main(const Arguments& args) {
  Store::Options options;
  options.folder = args.folder;
  auto store = Store::Open(options);
  if (!store.ok()) {
    fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  const double seconds = Run(args, **store);
  const auto counts = (*store)->Counts();
  if (!counts.ok()) return 1;
  const double rate = static_cast<double>(counts->runs) / seconds;
  printf("%lu runs, %lu samples, batches of %d: %.2f s, %.0f runs/s, %.0f samples/s, %.1f bytes/sample\n",
         counts->runs, counts->samples, args.batch, seconds, rate, rate * kMetrics,
         static_cast<double>(counts->disk_bytes) / static_cast<double>(counts->samples));
  if (!args.json.empty()) {
    std::ofstream(args.json) << "{\"runs\":" << counts->runs << ",\"batch\":" << args.batch
                             << ",\"seconds\":" << seconds << ",\"runs_per_second\":" << rate << "}\n";
  }
  return 0;
}

}  // namespace
}  // namespace fleetmark::collector

int main(int argc, char** argv) {
  fleetmark::collector::Arguments args;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool has_value = i + 1 < argc;
    if (arg == "--runs" && has_value) {
      args.runs = std::atoi(argv[++i]);
    } else if (arg == "--batch" && has_value) {
      args.batch = std::atoi(argv[++i]);
    } else if (arg == "--json" && has_value) {
      args.json = argv[++i];
    } else if (arg[0] != '-' && args.folder.empty()) {
      args.folder = arg;
    } else {
      args.folder.clear();
      break;
    }
  }
  if (args.folder.empty() || args.runs <= 0 || args.batch <= 0) {
    fprintf(stderr, "usage: %s FOLDER [--runs N] [--batch N] [--json FILE]\n", argv[0]);
    return 2;
  }
  return fleetmark::collector::Main(args);
}
