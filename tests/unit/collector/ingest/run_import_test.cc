#include "collector/ingest/run_import.h"

#include <filesystem>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/ingest/committer.h"
#include "collector/ingest/ingest_metrics.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/exposition/imported_runs.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

constexpr int64_t kTime = 1'790'000'000'000'000'000;

class RunImportTest : public testing::Test {
 protected:
  RunImportTest() {
    folder_ = testing::TempDir() + "run_import." + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    Store::Options options;
    options.folder = folder_;
    options.reserve_bytes = 0;
    auto store = Store::Open(options);
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    committer_ = std::make_unique<Committer>(
        Committer::Options{},
        [this](absl::Span<const SenderRecords> batch) -> absl::StatusOr<CommitResult> {
          if (!commit_status_.ok()) return commit_status_;
          return store_->Commit(batch);
        },
        nullptr, RealClock(), ingest_metrics_);
    import_ = std::make_unique<RunImport>(*store_, *committer_, RealClock());
  }
  ~RunImportTest() override {
    committer_->Stop();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  static void Add(v1::ImportRunsRequest* request, const std::string& node, int64_t time_unix_ns,
                  double value) {
    ImportedRuns runs;
    EXPECT_TRUE(runs.Add({node, "stream", "triad", "GB/s", {}, value, time_unix_ns}, 1).ok());
    *request->add_runs() = runs.Take()[0].run;
  }

  uint64_t Samples() { return store_->Counts()->samples; }

  std::string folder_;
  Metrics metrics_;
  IngestMetrics ingest_metrics_{metrics_};
  absl::Status commit_status_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<RunImport> import_;
};

TEST_F(RunImportTest, StoredOnceHoweverOften) {
  v1::ImportRunsRequest request;
  for (int i = 0; i < 50; ++i) Add(&request, i % 2 == 0 ? "n1" : "n2", kTime + i * 1'000'000'000LL, i);
  const auto first = import_->Import(request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->stored(), 50U);
  const auto second = import_->Import(request);
  EXPECT_EQ(second->stored(), 0U);
  EXPECT_EQ(second->known(), 50U);
  Add(&request, "n1", kTime - 1'000'000'000LL, 7);  // an older one, and twice in one request
  Add(&request, "n1", kTime - 1'000'000'000LL, 7);
  const auto third = import_->Import(request);
  EXPECT_EQ(third->stored(), 1U);
  EXPECT_EQ(third->known(), 51U);
  EXPECT_EQ(Samples(), 51U);
  EXPECT_TRUE(store_->GetNode("n2").ok());
  EXPECT_EQ(store_->GetRun(request.runs(0).run().run_id())->run().trigger(), v1::TRIGGER_IMPORT);
}

TEST_F(RunImportTest, WhatTheStoreWouldDropIsRefused) {
  RunImport import(*store_, *committer_, RealClock(), absl::Hours(24 * 90));
  v1::ImportRunsRequest request;
  Add(&request, "n1", absl::ToUnixNanos(RealClock().Now() - absl::Hours(24 * 91)), 1);
  Add(&request, "n1", absl::ToUnixNanos(RealClock().Now() - absl::Hours(24 * 89)), 1);
  const auto response = import.Import(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->stored(), 1U);
  ASSERT_EQ(response->refused_size(), 1);
  EXPECT_THAT(response->refused(0).reason(), HasSubstr("older than the 90 days"));
}

TEST_F(RunImportTest, BadRunsAreRefusedAlone) {
  v1::ImportRunsRequest request;
  for (int i = 0; i < 6; ++i) Add(&request, "n1", kTime + i, i);
  request.mutable_runs(1)->set_node("no node");
  request.mutable_runs(2)->mutable_run()->set_run_id("x");
  request.mutable_runs(3)->mutable_run()->set_started_unix_ns(absl::ToUnixNanos(RealClock().Now()) +
                                                              86'400'000'000'000);
  request.mutable_runs(4)->mutable_run()->set_started_unix_ns(0);
  const auto answer = import_->Import(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->stored(), 2U);
  ASSERT_EQ(answer->refused_size(), 4);
  EXPECT_EQ(answer->refused(2).index(), 3U);
  EXPECT_THAT(answer->refused(2).reason(), HasSubstr("future"));
}

TEST_F(RunImportTest, AFailedCommitIsTold) {
  commit_status_ = absl::ResourceExhaustedError("the disk is full");
  v1::ImportRunsRequest request;
  Add(&request, "n1", kTime, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(import_->Import(request).status()));
  commit_status_ = absl::OkStatus();
  EXPECT_EQ(import_->Import(request)->stored(), 1U);
}

TEST_F(RunImportTest, TooManyAtOnceAreRefused) {
  v1::ImportRunsRequest request;
  for (int i = 0; i <= RunImport::kMaxRuns; ++i) request.add_runs();
  EXPECT_TRUE(absl::IsInvalidArgument(import_->Import(request).status()));
}

}  // namespace
}  // namespace fleetmark::collector
