// Records for tests of the store and of ingest, and a folder that goes away.
#ifndef FLEETMARK_TESTS_UNIT_COLLECTOR_STORE_RECORDS_H_
#define FLEETMARK_TESTS_UNIT_COLLECTOR_STORE_RECORDS_H_

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "collector/store/store.h"
#include "common/base/file.h"
#include "common/base/ulid.h"

namespace fleetmark::collector {

inline constexpr char kEpoch[] = "0123456789abcdef0123456789abcdef";
inline constexpr int64_t kStartNs = 1'790'000'000'000'000'000;

class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/fleetmark_test_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempFolder() { RemoveTree(path_).IgnoreError(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// An OK run with `metrics` metrics m0, m1, … whose values are `value`.
inline v1::Run MakeRun(int64_t started_unix_ns, double value = 1.5, int metrics = 1) {
  v1::Run run;
  run.set_run_id(NewUlid(absl::FromUnixNanos(started_unix_ns)));
  run.set_benchmark("stream");
  run.set_plugin("stream");
  run.set_plugin_version("1");
  run.set_params_digest("0011223344556677");
  run.set_outcome(v1::OUTCOME_OK);
  run.set_trigger(v1::TRIGGER_SCHEDULE);
  run.set_started_unix_ns(started_unix_ns);
  run.set_duration_seconds(2);
  run.set_log_tail("done\n");
  for (int i = 0; i < metrics; ++i) {
    v1::Metric& metric = *run.add_metrics();
    metric.set_name(absl::StrCat("m", i));
    metric.set_unit("GB/s");
    metric.set_better(v1::BETTER_HIGHER);
    metric.set_value(value);
  }
  return run;
}

inline v1::Record RunRecord(uint64_t sequence, v1::Run run) {
  v1::Record record;
  record.set_sequence(sequence);
  *record.mutable_run() = std::move(run);
  return record;
}

inline v1::Record RunRecord(uint64_t sequence) {
  return RunRecord(sequence, MakeRun(kStartNs + static_cast<int64_t>(sequence) * 1'000'000'000));
}

inline v1::Event MakeEvent(const std::string& node, int64_t time_unix_ns) {
  v1::Event event;
  event.set_event_id(NewUlid(absl::FromUnixNanos(time_unix_ns)));
  event.set_node(node);
  event.set_time_unix_ns(time_unix_ns);
  event.set_kind(v1::Event::KIND_NOTE);
  return event;
}

}  // namespace fleetmark::collector

#endif  // FLEETMARK_TESTS_UNIT_COLLECTOR_STORE_RECORDS_H_
