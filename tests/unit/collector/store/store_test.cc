// The store's promises when writing: atomic, once, durable, refused when it must be.
#include "collector/store/store.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/db.h"

#include "common/base/status.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() { Reopen(); }

  void Reopen() {
    store_.reset();
    options_.folder = folder_.path() + "/store";
    auto store = Store::Open(options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  CommitResult Commit(std::vector<v1::Record> records, const std::string& node = "n1",
                      const std::string& epoch = kEpoch) {
    const auto result = store_->Commit({SenderRecords{node, epoch, std::move(records)}});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(CommitResult());
  }

  std::vector<v1::Sample> Samples(uint64_t series_id) {
    std::vector<v1::Sample> out;
    EXPECT_TRUE(store_
                    ->ScanSamples(series_id, 0, std::numeric_limits<int64_t>::max(),
                                  [&out](const v1::Sample& sample) {
                                    out.push_back(sample);
                                    return true;
                                  })
                    .ok());
    return out;
  }

  TempFolder folder_;
  Store::Options options_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, StoresARunWithItsSamples) {
  v1::Run run = MakeRun(kStartNs, 12.5, 2);
  run.mutable_metrics(0)->set_relative_spread(0.01);
  const CommitResult result = Commit({RunRecord(1, run)});
  EXPECT_EQ(result.runs, 1u);
  EXPECT_EQ(result.runs_by_outcome[v1::OUTCOME_OK], 1u);
  EXPECT_EQ(result.samples, 2u);
  EXPECT_EQ(result.series_created, 2u);
  EXPECT_THAT(result.touched_series, ElementsAre(1, 2));

  const auto stored = store_->GetRun(run.run_id());
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->node(), "n1");
  EXPECT_EQ(stored->run().SerializeAsString(), run.SerializeAsString());  // the log too

  const auto samples = Samples(1);
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_EQ(samples[0].value(), 12.5);
  EXPECT_EQ(samples[0].time_unix_ns(), kStartNs);
  EXPECT_EQ(samples[0].run_id(), run.run_id());
  EXPECT_EQ(samples[0].relative_spread(), 0.01);

  const auto series = store_->GetSeries(1);
  ASSERT_TRUE(series.ok());
  EXPECT_EQ(series->key().metric(), "m0");
  EXPECT_EQ(series->better(), v1::BETTER_HIGHER);
  EXPECT_EQ(series->samples(), 1u);
  EXPECT_EQ(series->last_value(), 12.5);
}

TEST_F(StoreTest, OnlyOkRunsEnterSeries) {
  v1::Run run = MakeRun(kStartNs);
  run.set_outcome(v1::OUTCOME_INVALID);
  const CommitResult result = Commit({RunRecord(1, run)});
  EXPECT_EQ(result.runs, 1u);
  EXPECT_EQ(result.samples, 0u);
  EXPECT_EQ(store_->Counts()->series, 0u);
}

TEST_F(StoreTest, SendingAgainIsHarmless) {
  const std::vector<v1::Record> records = {RunRecord(1), RunRecord(2), RunRecord(5)};
  EXPECT_EQ(Commit(records).runs, 3u);
  EXPECT_EQ(*store_->Watermark("n1", kEpoch), 5u);
  const CommitResult again = Commit(records);
  EXPECT_EQ(again.runs, 0u);
  EXPECT_EQ(again.duplicates, 3u);
  EXPECT_THAT(again.touched_series, IsEmpty());
  Reopen();
  EXPECT_EQ(Commit({records[2], RunRecord(6)}).duplicates, 1u);
  EXPECT_EQ(*store_->Watermark("n1", kEpoch), 6u);
  EXPECT_THAT(Samples(1), SizeIs(4));
  EXPECT_EQ(store_->GetSeries(1)->samples(), 4u);
}

TEST_F(StoreTest, OneSenderMayComeTwiceInABatch) {
  const v1::Record first = RunRecord(1);
  const auto result = store_->Commit({SenderRecords{"n1", kEpoch, {first, RunRecord(2)}},
                                      SenderRecords{"n1", kEpoch, {first, RunRecord(3)}}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->runs, 3u);
  EXPECT_EQ(result->duplicates, 1u);
  EXPECT_EQ(*store_->Watermark("n1", kEpoch), 3u);
}

// An agent whose disk was restored sends old runs under a new epoch.
TEST_F(StoreTest, ARunOfAnotherEpochIsStoredOnce) {
  const v1::Run run = MakeRun(kStartNs);
  Commit({RunRecord(7, run)});
  const std::string other_epoch(32, 'f');
  const CommitResult again = Commit({RunRecord(1, run), RunRecord(2, run)}, "n1", other_epoch);
  EXPECT_EQ(again.runs, 0u);
  EXPECT_EQ(again.duplicates, 2u);
  EXPECT_EQ(*store_->Watermark("n1", other_epoch), 2u);
  EXPECT_EQ(store_->Counts()->runs, 1u);
  EXPECT_THAT(Samples(1), SizeIs(1));
}

TEST_F(StoreTest, LateSamplesComeInTimeOrderAndTheSameTimeKeepsBoth) {
  Commit({RunRecord(1, MakeRun(kStartNs + 20, 2)), RunRecord(2, MakeRun(kStartNs + 10, 1)),
          RunRecord(3, MakeRun(kStartNs + 20, 3))});
  const auto samples = Samples(1);
  ASSERT_THAT(samples, SizeIs(3));
  EXPECT_EQ(samples[0].value(), 1);
  EXPECT_EQ(samples[1].value() + samples[2].value(), 5);
  const auto series = store_->GetSeries(1);
  EXPECT_EQ(series->first_unix_ns(), kStartNs + 10);
  EXPECT_EQ(series->last_unix_ns(), kStartNs + 20);
  EXPECT_EQ(series->last_value(), 3);
}

TEST_F(StoreTest, ABadRecordStoresNothingOfItsBatch) {
  v1::Run bad = MakeRun(kStartNs);
  bad.set_run_id("nonsense");
  const auto result = store_->Commit({SenderRecords{"n1", kEpoch, {RunRecord(1), RunRecord(2, bad)}}});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(result.status()), HasSubstr("record 2 of n1"));
  EXPECT_EQ(*store_->Watermark("n1", kEpoch), 0u);
  EXPECT_EQ(store_->Counts()->runs, 0u);
  EXPECT_EQ(Commit({RunRecord(1)}).touched_series, std::vector<uint64_t>{1});  // no id was used up
}

TEST_F(StoreTest, SeriesBeyondTheLimitAreCountedAndTheirRunsKept) {
  options_.max_series = 2;
  Reopen();
  const CommitResult result =
      Commit({RunRecord(1, MakeRun(kStartNs, 1, 3)), RunRecord(2, MakeRun(kStartNs, 1, 3))});
  EXPECT_EQ(result.runs, 2u);
  EXPECT_EQ(result.samples, 4u);
  EXPECT_EQ(result.samples_over_series_limit, 2u);
  EXPECT_EQ(store_->Counts()->series, 2u);
}

TEST_F(StoreTest, ANodeWithTooManySeriesIsToldAndOthersAreNotHeldBack) {
  options_.max_series_per_node = 2;
  Reopen();
  const v1::Run run = MakeRun(kStartNs, 1, 3);
  const CommitResult result = Commit({RunRecord(1, run)});
  EXPECT_EQ(result.runs, 1u);
  EXPECT_EQ(result.samples, 2u);
  EXPECT_EQ(result.samples_over_node_limit, 1u);
  EXPECT_EQ(result.samples_over_series_limit, 0u);
  EXPECT_THAT(result.nodes_over_series_limit, ElementsAre("n1"));
  const auto stored = store_->GetRun(run.run_id());
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->run().metrics_size(), 3);
  ASSERT_EQ(stored->run().warnings_size(), 1);
  EXPECT_THAT(stored->run().warnings(0), HasSubstr("1 of 3 metrics"));
  EXPECT_THAT(stored->run().warnings(0), HasSubstr("store.max_series_per_node"));

  EXPECT_EQ(Commit({RunRecord(1, MakeRun(kStartNs, 1, 2))}, "n2").samples, 2u);
  // Its known series go on, also after a restart; a run without any of them is kept too.
  Reopen();
  EXPECT_EQ(Commit({RunRecord(2, MakeRun(kStartNs + 1, 1, 2))}).samples, 2u);
  v1::Run other = MakeRun(kStartNs + 2, 1, 1);
  other.set_benchmark("other");
  const CommitResult refused = Commit({RunRecord(3, other)});
  EXPECT_EQ(refused.runs, 1u);
  EXPECT_EQ(refused.samples, 0u);
  EXPECT_EQ(refused.samples_over_node_limit, 1u);
  EXPECT_EQ(store_->GetRun(other.run_id())->run().metrics_size(), 1);
  EXPECT_EQ(store_->Counts()->series, 4u);
}

TEST_F(StoreTest, LateRunsAreCounted) {
  EXPECT_EQ(Commit({RunRecord(1, MakeRun(kStartNs + 1000))}).runs_late, 0u);
  EXPECT_EQ(Commit({RunRecord(2, MakeRun(kStartNs + 500)), RunRecord(3, MakeRun(kStartNs + 2000))}).runs_late,
            1u);
}

TEST_F(StoreTest, CountsSurviveReopening) {
  v1::Run failed = MakeRun(kStartNs);
  failed.set_outcome(v1::OUTCOME_FAILED);
  Commit({RunRecord(1), RunRecord(2, failed)});
  v1::Node node;
  node.mutable_identity()->set_name("n1");
  ASSERT_TRUE(store_->PutNode(node).ok());
  ASSERT_TRUE(store_->PutNode(node).ok());
  for (int i = 0; i < 2; ++i) {
    const auto counts = store_->Counts();
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts->nodes, 1u);
    EXPECT_EQ(counts->series, 1u);
    EXPECT_EQ(counts->runs, 2u);
    EXPECT_EQ(counts->samples, 1u);
    EXPECT_EQ(counts->runs_by_outcome[0], (std::pair<std::string, uint64_t>("ok", 1)));
    EXPECT_EQ(counts->runs_by_outcome[1], (std::pair<std::string, uint64_t>("failed", 1)));
    EXPECT_GT(counts->disk_bytes, 0u);
    Reopen();
  }
}

TEST_F(StoreTest, FactsUpdateTheNode) {
  v1::Node node;
  node.mutable_identity()->set_name("n1");
  node.set_agent_version("1.2");
  ASSERT_TRUE(store_->PutNode(node).ok());
  v1::Record record;
  record.set_sequence(1);
  record.mutable_facts()->set_facts_digest("d2");
  v1::Fact& fact = *record.mutable_facts()->add_facts();
  fact.set_name("kernel.release");
  fact.set_value("6.1");
  Commit({record, RunRecord(2)});
  const auto updated = store_->GetNode("n1");
  ASSERT_TRUE(updated.ok());
  EXPECT_EQ(updated->agent_version(), "1.2");
  EXPECT_EQ(updated->facts_digest(), "d2");
  EXPECT_EQ(updated->facts(0).value(), "6.1");
  EXPECT_EQ(updated->last_run_unix_ns(), kStartNs + 2'000'000'000);
  Commit({record}, "n2");
  EXPECT_EQ(store_->Counts()->nodes, 2u);
}

TEST_F(StoreTest, ASeriesIsDirtyUntilAllItsSamplesWereEvaluated) {
  Commit({RunRecord(1, MakeRun(kStartNs, 1, 2))});
  EXPECT_THAT(*store_->DirtySeries(10), ElementsAre(1, 2));
  EXPECT_THAT(*store_->DirtySeries(1), ElementsAre(1));
  Commit({RunRecord(2, MakeRun(kStartNs + 1, 1, 1))});
  Store::Evaluation evaluation{1, 1, "state one", {}};
  ASSERT_TRUE(store_->PutEvaluation(evaluation).ok());  // it has not seen the second sample
  EXPECT_THAT(*store_->DirtySeries(10), ElementsAre(1, 2));
  EXPECT_EQ(*store_->DetectorState(1), "state one");
  evaluation.samples_seen = 2;
  ASSERT_TRUE(store_->PutEvaluation(evaluation).ok());
  EXPECT_THAT(*store_->DirtySeries(10), ElementsAre(2));
  EXPECT_EQ(*store_->DetectorState(2), "");
}

TEST_F(StoreTest, OpenFindingsAreCountedOnce) {
  Commit({RunRecord(1)});
  v1::Finding finding;
  finding.set_finding_id(NewUlid(absl::FromUnixNanos(kStartNs)));
  finding.mutable_series()->set_node("n1");
  finding.set_state(v1::Finding::STATE_OPEN);
  finding.set_direction(v1::Finding::DIRECTION_WORSE);
  v1::Node node;
  node.mutable_identity()->set_name("n1");
  ASSERT_TRUE(store_->PutNode(node).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store_->PutEvaluation({1, 1, "", {finding}}).ok());
    EXPECT_EQ(store_->Counts()->open_findings, 1u);
    EXPECT_EQ(store_->Counts()->open_findings_worse, 1u);
    EXPECT_EQ(store_->GetNode("n1")->open_findings(), 1u);
  }
  finding.set_state(v1::Finding::STATE_CLOSED);
  ASSERT_TRUE(store_->PutEvaluation({1, 1, "", {finding}}).ok());
  EXPECT_EQ(store_->Counts()->open_findings, 0u);
  EXPECT_EQ(store_->Counts()->open_findings_worse, 0u);
  EXPECT_EQ(store_->GetNode("n1")->open_findings(), 0u);
}

// A large file takes the space that the store wants to keep free.
TEST_F(StoreTest, RefusesWritesWhileSpaceIsShortAndGoesOnReading) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  struct statvfs fs {};
  ASSERT_EQ(statvfs(folder_.path().c_str(), &fs), 0);
  const uint64_t free_bytes = static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize;
  if (free_bytes < 4 * kGiB) GTEST_SKIP() << "needs 4 GiB of free space";
  options_.reserve_bytes = free_bytes - kGiB;
  Reopen();
  Commit({RunRecord(1)});
  const std::string ballast = folder_.path() + "/ballast";
  const UniqueFd fd(open(ballast.c_str(), O_CREAT | O_WRONLY, 0600));
  if (fallocate(fd.get(), 0, 0, 2 * kGiB) != 0) GTEST_SKIP() << "no fallocate here";

  const auto refused = store_->Commit({SenderRecords{"n1", kEpoch, {RunRecord(2)}}});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Health().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Samples(1), SizeIs(1));

  ASSERT_EQ(ftruncate(fd.get(), 0), 0);
  EXPECT_TRUE(store_->Health().ok());
  EXPECT_EQ(Commit({RunRecord(2)}).runs, 1u);
  EXPECT_THAT(Samples(1), SizeIs(2));
}

// A damaged record in the middle of the log must not silently cost what follows it.
TEST_F(StoreTest, RefusesADamagedLogAndLeavesItAsItIs) {
  for (uint64_t i = 1; i <= 50; ++i) Commit({RunRecord(i)});
  std::string log;
  store_.reset();
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0) log = entry.path();
  }
  ASSERT_FALSE(log.empty());
  std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(log));
  file.seekg(size / 2);
  const char byte = static_cast<char>(file.get() ^ 0x55);
  file.seekp(size / 2);
  file.put(byte);
  file.close();
  const auto store = Store::Open(options_);
  EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(store.status()), HasSubstr("docs/storage-format.md"));
  EXPECT_EQ(static_cast<std::streamoff>(std::filesystem::file_size(log)), size);
}

TEST_F(StoreTest, OneProcessAtATime) {
  const auto second = Store::Open(options_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(second.status()), HasSubstr("another process"));
}

// Writes into the store's files what a newer program would.
void ChangeFormat(const std::string& folder, const std::string& format) {
  std::vector<std::string> names;
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, folder, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open({}, folder, families, &handles, &db).ok());
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "meta") {
      ASSERT_TRUE(db->Put({}, handles[i], "format", format).ok());
    }
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(handles[i]).ok());
  }
  delete db;
}

TEST_F(StoreTest, RefusesANewerFormat) {
  store_.reset();
  ChangeFormat(options_.folder, std::string("\x01\0\0\0\0\0\0\0\x03", 9));
  const auto store = Store::Open(options_);
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(store.status()), HasSubstr("format 3"));
}

TEST_F(StoreTest, RefusesAColumnFamilyThatItDoesNotKnow) {
  store_.reset();
  std::vector<std::string> names;
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, options_.folder, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  families.emplace_back("chunks_v9", rocksdb::ColumnFamilyOptions());
  rocksdb::DBOptions create;
  create.create_missing_column_families = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(create, options_.folder, families, &handles, &db).ok());
  for (auto* handle : handles) ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  delete db;
  const auto store = Store::Open(options_);
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(store.status()), HasSubstr("chunks_v9"));
}

TEST_F(StoreTest, NotesOfTheFleetStayWithAFindingAndDoNotBringItBack) {
  Commit({RunRecord(1)});
  v1::Finding finding;
  finding.set_finding_id(NewUlid(absl::FromUnixNanos(kStartNs)));
  finding.set_series_id(1);
  finding.set_state(v1::Finding::STATE_OPEN);
  finding.set_direction(v1::Finding::DIRECTION_WORSE);
  finding.mutable_series()->set_node("n1");
  ASSERT_TRUE(store_->PutEvaluation({1, 1, "", {finding}}).ok());

  v1::Finding group = finding;
  group.set_finding_id(NewUlid(absl::FromUnixNanos(kStartNs + 1'000'000)));
  group.clear_series();
  v1::Finding notes = finding;
  notes.set_group_id(group.finding_id());
  notes.mutable_budget()->set_within(true);
  ASSERT_TRUE(store_->PutFleetEvaluation({"state", {group}, {notes}}).ok());
  EXPECT_EQ(*store_->FleetDetectionState(), "state");
  EXPECT_EQ(store_->OpenFindings(10)->size(), 2u);
  EXPECT_EQ(store_->OpenFindings(1)->size(), 1u);
  EXPECT_EQ(store_->Counts()->open_findings, 1u);  // a member counts with its group
  EXPECT_EQ(store_->Counts()->open_findings_worse, 1u);

  // The series' own detection closes it, and knows nothing of notes; then notes come that were made before.
  finding.set_state(v1::Finding::STATE_CLOSED);
  ASSERT_TRUE(store_->PutEvaluation({1, 1, "", {finding}}).ok());
  ASSERT_TRUE(store_->PutFleetEvaluation({"state", {}, {notes}}).ok());
  v1::ListFindingsRequest all;
  Page page;
  std::string next;
  std::vector<v1::Finding> stored = *store_->ListFindings(all, page, &next);
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[1].state(), v1::Finding::STATE_CLOSED);
  EXPECT_EQ(stored[1].group_id(), group.finding_id());
  EXPECT_TRUE(stored[1].budget().within());
  all.set_top_level(true);
  EXPECT_EQ(store_->ListFindings(all, page, &next)->size(), 1u);
  EXPECT_EQ(store_->Counts()->open_findings, 1u);

  // Notes in a finding that is not stored are left out; a malformed id is refused.
  notes.set_finding_id(NewUlid(absl::FromUnixNanos(kStartNs + 2'000'000)));
  EXPECT_TRUE(store_->PutFleetEvaluation({"", {}, {notes}}).ok());
  notes.set_finding_id("x");
  EXPECT_TRUE(absl::IsInvalidArgument(store_->PutFleetEvaluation({"", {}, {notes}})));
}

}  // namespace
}  // namespace fleetmark::collector
