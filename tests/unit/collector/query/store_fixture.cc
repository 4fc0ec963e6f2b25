#include "store_fixture.h"

#include <stdlib.h>

#include "absl/time/time.h"

#include "common/base/file.h"
#include "common/base/ulid.h"

namespace fleetmark::collector {

StoreFixture::StoreFixture() {
  std::string pattern = testing::TempDir() + "/fleetmark_store_XXXXXX";
  folder_ = mkdtemp(pattern.data());
  Reopen();
}

StoreFixture::~StoreFixture() {
  store_.reset();
  RemoveTree(folder_).IgnoreError();
}

void StoreFixture::Reopen() {
  store_.reset();
  Store::Options options;
  options.folder = folder_ + "/store";
  options.reserve_bytes = 0;
  auto store = Store::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  store_ = *std::move(store);
}

void StoreFixture::AddNode(const std::string& name, const std::string& rack) {
  v1::Node node;
  node.mutable_identity()->set_name(name);
  (*node.mutable_identity()->mutable_labels())["rack"] = rack;
  ASSERT_TRUE(store_->PutNode(node).ok());
}

void StoreFixture::AddRuns(const std::string& node, const std::string& benchmark,
                           const std::vector<double>& values) {
  SenderRecords sender{node, std::string(32, 'a'), {}};
  for (double value : values) {
    const int64_t time = kFirstRunNs + static_cast<int64_t>(sequence_) * kMinuteNs;
    v1::Record record;
    record.set_sequence(++sequence_);
    v1::Run& run = *record.mutable_run();
    run.set_run_id(NewUlid(absl::FromUnixNanos(time)));
    run.set_benchmark(benchmark);
    run.set_plugin("stream");
    run.set_outcome(v1::OUTCOME_OK);
    run.set_started_unix_ns(time);
    run.set_log_tail("the end of the log");
    v1::Metric& metric = *run.add_metrics();
    metric.set_name("bandwidth");
    metric.set_unit("GB/s");
    metric.set_better(v1::BETTER_HIGHER);
    metric.set_value(value);
    (*metric.mutable_labels())["kernel"] = "copy";
    run_ids_.push_back(run.run_id());
    sender.records.push_back(record);
  }
  const auto result = store_->Commit({sender});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->samples, values.size());
}

}  // namespace fleetmark::collector
