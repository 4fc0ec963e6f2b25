#include "agent/spool/spool.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/file.h"
#include "common/model/limits.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/spool/records.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SpoolTest : public ::testing::Test {
 protected:
  SpoolTest() {
    options_.folder = folder_.path() + "/spool";
    options_.node = "n1";
  }

  void Open() {
    spool_.reset();
    auto spool = Spool::Open(options_, clock_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    spool_ = *std::move(spool);
  }

  uint64_t Append(const std::string& text, Spool::Kind kind = Spool::Kind::kOther) {
    auto sequence = spool_->Append(RunRecord(text), kind);
    EXPECT_TRUE(sequence.ok()) << sequence.status();
    return sequence.value_or(0);
  }

  v1::RecordBatch Read(uint64_t sequence, uint64_t max_bytes = 64 << 20, uint64_t max_records = 10'000) {
    auto batch = spool_->ReadAfter(sequence, max_bytes, max_records);
    EXPECT_TRUE(batch.ok()) << batch.status();
    return batch.ok() ? *std::move(batch) : v1::RecordBatch();
  }

  std::vector<std::string> Texts() { return TextsOf(*spool_); }

  std::string File() const { return options_.folder + "/spool.db"; }

  TemporaryFolder folder_;
  FakeClock clock_;
  Spool::Options options_;
  std::unique_ptr<Spool> spool_;
};

TEST_F(SpoolTest, GivesBackWhatWasAppendedInOrder) {
  Open();
  EXPECT_EQ(Append("a"), 1u);
  EXPECT_EQ(Append("b"), 2u);
  EXPECT_EQ(Append("c"), 3u);
  const v1::RecordBatch batch = Read(1);
  ASSERT_EQ(batch.records_size(), 2);
  EXPECT_EQ(batch.records(0).sequence(), 2u);
  EXPECT_EQ(batch.records(0).run().reason(), "b");
  EXPECT_EQ(batch.records(1).sequence(), 3u);
}

TEST_F(SpoolTest, ReadIsBoundedByCountAndBytesButNeverStuck) {
  Open();
  for (int i = 0; i < 10; ++i) Append(std::string(1000, 'x'));
  EXPECT_EQ(Read(0, 1 << 20, 4).records_size(), 4);
  EXPECT_EQ(Read(0, 3500, 100).records_size(), 3);
  EXPECT_EQ(Read(0, 1, 100).records_size(), 1);
  EXPECT_EQ(Read(10, 1 << 20, 100).records_size(), 0);
}

TEST_F(SpoolTest, AckForgetsAllUpToIt) {
  Open();
  for (const char* text : {"a", "b", "c"}) Append(text);
  ASSERT_TRUE(spool_->Ack(2).ok());
  EXPECT_THAT(Texts(), ElementsAre("c"));
  EXPECT_EQ(spool_->stats().records, 1u);
  EXPECT_EQ(spool_->stats().first_sequence, 3u);
  ASSERT_TRUE(spool_->Ack(1).ok());
  EXPECT_THAT(Texts(), ElementsAre("c"));
}

TEST_F(SpoolTest, AckOfANumberNeverGivenOutIsRefused) {
  Open();
  Append("a");
  EXPECT_EQ(spool_->Ack(2).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Texts(), ElementsAre("a"));
}

TEST_F(SpoolTest, EverythingSurvivesReopening) {
  Open();
  const std::string epoch = spool_->epoch();
  EXPECT_THAT(epoch, SizeIs(32));
  Append("a");
  clock_.Advance(absl::Seconds(5));
  Append("b");
  ASSERT_TRUE(spool_->Ack(1).ok());
  const Spool::Stats before = spool_->stats();
  Open();
  EXPECT_EQ(spool_->epoch(), epoch);
  EXPECT_THAT(Texts(), ElementsAre("b"));
  EXPECT_EQ(spool_->stats().bytes, before.bytes);
  EXPECT_EQ(spool_->stats().oldest, before.oldest);
  EXPECT_EQ(spool_->stats().last_sequence, 2u);
}

TEST_F(SpoolTest, NumbersAreNotReusedAfterAllIsAcknowledgedAndReopened) {
  Open();
  Append("a");
  Append("b");
  ASSERT_TRUE(spool_->Ack(2).ok());
  EXPECT_EQ(spool_->stats().first_sequence, 3u);
  Open();
  EXPECT_EQ(spool_->stats().last_sequence, 2u);
  EXPECT_EQ(Append("c"), 3u);
}

TEST_F(SpoolTest, NewEpochKeepsRecordsAndNumbers) {
  Open();
  const std::string epoch = spool_->epoch();
  Append("a");
  ASSERT_TRUE(spool_->BeginEpoch().ok());
  const std::string next = spool_->epoch();
  EXPECT_NE(next, epoch);
  EXPECT_THAT(Texts(), ElementsAre("a"));
  Open();
  EXPECT_EQ(spool_->epoch(), next);
}

TEST_F(SpoolTest, TooLargeARecordIsRefused) {
  Open();
  const auto sequence =
      spool_->Append(RunRecord(std::string(limits::kRecordBytes, 'x')), Spool::Kind::kOther);
  EXPECT_EQ(sequence.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spool_->stats().records, 0u);
}

TEST_F(SpoolTest, FullDropsSkippedRunsFirstThenTheOldest) {
  options_.max_bytes = 64 * 1024;
  Open();
  const std::string ballast(9000, 'x');
  Append("1" + ballast);
  Append("2" + ballast, Spool::Kind::kSkipped);
  Append("3" + ballast);
  Append("4" + ballast, Spool::Kind::kSkipped);
  for (const char* name : {"5", "6", "7"}) Append(name + ballast);
  EXPECT_EQ(spool_->stats().dropped, 0u);

  const auto names = [this] {
    std::string initials;
    for (const std::string& text : Texts()) initials += text.substr(0, 1);
    return initials;
  };
  Append("8" + ballast);
  EXPECT_EQ(names(), "1345678r");
  Append("9" + ballast);
  EXPECT_EQ(names(), "135678r9r");  // the first report was read, so this drop has one of its own
  EXPECT_EQ(spool_->stats().dropped, 2u);
}

TEST_F(SpoolTest, FullOfResultsDropsTheOldestResultAndKeepsTheNewest) {
  options_.max_bytes = 64 * 1024;
  Open();
  for (int i = 0; i < 200; ++i) Append(std::to_string(i) + "/" + std::string(5000, 'x'));
  const auto texts = Texts();
  EXPECT_TRUE(absl::StartsWith(texts[texts.size() - 2], "199/"));
  EXPECT_EQ(spool_->stats().dropped + texts.size() - 1, 200u);
  EXPECT_LE(spool_->stats().bytes, options_.max_bytes);
}

TEST_F(SpoolTest, SkippedRunDoesNotDisplaceResults) {
  options_.max_bytes = 64 * 1024;
  Open();
  for (int i = 0; i < 6; ++i) Append(std::string(10'000, 'x'));
  Append("skipped" + std::string(10'000, 'y'), Spool::Kind::kSkipped);
  EXPECT_EQ(spool_->stats().dropped, 1u);
  const auto texts = Texts();
  EXPECT_THAT(texts, SizeIs(7));  // six results and the report
  for (const std::string& text : texts) EXPECT_FALSE(absl::StartsWith(text, "skipped"));
}

TEST_F(SpoolTest, ReportsOfDropsAddUpToTheCount) {
  options_.max_bytes = 64 * 1024;
  Open();
  uint64_t reported = 0;
  uint64_t last_report = 0;
  const auto read_reports = [&] {
    const v1::RecordBatch batch = Read(0);
    for (const v1::Record& record : batch.records()) {
      if (!record.has_event() || record.sequence() <= last_report) continue;
      EXPECT_EQ(record.event().kind(), v1::Event::KIND_RECORDS_DROPPED);
      EXPECT_EQ(record.event().node(), "n1");
      reported += std::stoull(record.event().new_value());
      last_report = record.sequence();
    }
  };
  for (int burst = 0; burst < 4; ++burst) {
    for (int i = 0; i < 20; ++i) Append(std::string(5000, 'x'));
    if (burst == 1) Open();
    read_reports();
  }
  EXPECT_GT(spool_->stats().dropped, 60u);
  EXPECT_EQ(reported, spool_->stats().dropped);
}

TEST_F(SpoolTest, OneBurstHasOneReport) {
  options_.max_bytes = 64 * 1024;
  Open();
  for (int i = 0; i < 100; ++i) Append(std::string(5000, 'x'));
  int reports = 0;
  const v1::RecordBatch batch = Read(0);
  for (const v1::Record& record : batch.records()) reports += record.has_event() ? 1 : 0;
  EXPECT_EQ(reports, 1);
}

TEST_F(SpoolTest, CountOfDropsSurvivesReopening) {
  options_.max_bytes = 64 * 1024;
  Open();
  for (int i = 0; i < 30; ++i) Append(std::string(5000, 'x'));
  const uint64_t dropped = spool_->stats().dropped;
  ASSERT_GT(dropped, 0u);
  Open();
  EXPECT_EQ(spool_->stats().dropped, dropped);
}

TEST_F(SpoolTest, DropsWhatIsTooOld) {
  options_.max_age = absl::Hours(24);
  Open();
  Append("old");
  clock_.Advance(absl::Hours(23));
  Append("young");
  clock_.Advance(absl::Hours(2));
  Append("new");
  EXPECT_THAT(Texts(), ElementsAre("young", "new", "report 1"));
}

TEST_F(SpoolTest, SettingTheWallClockDoesNotAgeRecords) {
  options_.max_age = absl::Hours(24);
  Open();
  Append("a");
  clock_.StepWallClock(absl::Hours(24 * 365 * 50));
  Append("b");
  EXPECT_THAT(Texts(), ElementsAre("a", "b"));
  clock_.Advance(absl::Hours(25));
  Append("c");
  EXPECT_EQ(spool_->stats().dropped, 2u);
}

TEST_F(SpoolTest, FileThatIsNoDatabaseIsMovedAside) {
  Open();
  const std::string epoch = spool_->epoch();
  Append("a");
  spool_.reset();
  std::ofstream(File(), std::ios::trunc) << std::string(20'000, 'j');
  Open();
  EXPECT_NE(spool_->epoch(), epoch);
  EXPECT_EQ(spool_->stats().damaged_files, 1u);
  const std::string aside = File() + ".corrupt-" + std::to_string(absl::ToUnixSeconds(clock_.Now()));
  EXPECT_TRUE(std::filesystem::exists(aside));
  EXPECT_THAT(Texts(), SizeIs(1));
  EXPECT_TRUE(absl::StrContains(Texts()[0], aside));
  EXPECT_EQ(Append("b"), 2u);
}

TEST_F(SpoolTest, FileOfZerosIsMovedAside) {
  for (const size_t size : {size_t{100}, size_t{4096}, size_t{20'000}, size_t{65536}}) {
    SCOPED_TRACE(size);
    Open();
    const std::string epoch = spool_->epoch();
    Append("a");
    spool_.reset();
    std::ofstream(File(), std::ios::trunc) << std::string(size, '\0');
    Open();
    EXPECT_NE(spool_->epoch(), epoch);
    EXPECT_EQ(spool_->stats().damaged_files, 1u);
    Append("b");
    EXPECT_EQ(Texts().back(), "b");
  }
}

// Its log stays behind when the agent is killed; here by a copy while it is open.
TEST_F(SpoolTest, EmptiedFileBesideItsLogIsMovedAside) {
  Open();
  Append("a");
  std::filesystem::copy_file(File() + "-wal", folder_.path() + "/kept-wal");
  spool_.reset();
  std::filesystem::rename(folder_.path() + "/kept-wal", File() + "-wal");
  std::filesystem::resize_file(File(), 0);
  Open();
  EXPECT_EQ(spool_->stats().damaged_files, 1u);
  const std::string aside = File() + ".corrupt-" + std::to_string(absl::ToUnixSeconds(clock_.Now()));
  EXPECT_TRUE(std::filesystem::exists(aside + "-wal"));
}

TEST_F(SpoolTest, DatabaseOfOtherTablesIsMovedAside) {
  Open();
  spool_.reset();
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(File().c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "DROP TABLE state", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  Open();
  EXPECT_EQ(spool_->stats().damaged_files, 1u);
}

TEST_F(SpoolTest, OnlyTheNewestDamagedFileIsKept) {
  for (int i = 0; i < 3; ++i) {
    Open();
    spool_.reset();
    std::ofstream(File(), std::ios::trunc) << std::string(20'000, 'j');
    clock_.Advance(absl::Seconds(10));
  }
  Open();
  int kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
    kept += absl::StrContains(entry.path().string(), "corrupt") ? 1 : 0;
  }
  EXPECT_EQ(kept, 1);
}

// Whatever page is overwritten, the spool opens again and works.
TEST_F(SpoolTest, DamageAnywhereIsSurvived) {
  Open();
  for (int i = 0; i < 40; ++i) Append(std::string(3000, static_cast<char>('a' + i % 26)));
  spool_.reset();
  std::filesystem::copy_file(File(), folder_.path() + "/good.db");
  const auto size = std::filesystem::file_size(File());
  for (uintmax_t offset = 0; offset < size; offset += 4096) {
    SCOPED_TRACE(offset);
    std::filesystem::copy_file(folder_.path() + "/good.db", File(),
                               std::filesystem::copy_options::overwrite_existing);
    {
      std::fstream file(File(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(offset));
      file << std::string(4096, '\xa5');
    }
    Open();
    const uint64_t sequence = Append("after");
    const v1::RecordBatch batch = Read(sequence - 1);
    ASSERT_EQ(batch.records_size(), 1);
    EXPECT_EQ(batch.records(0).run().reason(), "after");
    for (const std::string& text : Texts()) EXPECT_EQ(text.find('\xa5'), std::string::npos);
  }
}

TEST_F(SpoolTest, DamagedRecordIsDroppedAndCounted) {
  Open();
  for (const char* text : {"first", "second", "third"}) Append(text);
  spool_.reset();
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(File().c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "UPDATE records SET body = replace(body, 'eco', 'ECO') WHERE sequence = 2",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(handle);
  Open();
  EXPECT_THAT(Texts(), ElementsAre("first", "third"));
  EXPECT_THAT(Texts(), ElementsAre("first", "third", "report 1"));
  EXPECT_EQ(spool_->stats().dropped, 1u);
}

TEST_F(SpoolTest, NewerFormatIsRefusedAndLeftAlone) {
  Open();
  spool_.reset();
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(File().c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "PRAGMA user_version = 3", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  EXPECT_EQ(Spool::Open(options_, clock_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::exists(File()));
}

v1::Run StartedRun(const std::string& id) {
  v1::Run run;
  run.set_run_id(id);
  run.set_benchmark("gemm");
  return run;
}

TEST_F(SpoolTest, AStartedRunIsKnownUntilItsRecordIsAppended) {
  Open();
  ASSERT_TRUE(spool_->NoteStarted(StartedRun("one")).ok());
  ASSERT_TRUE(spool_->NoteStarted(StartedRun("two")).ok());
  v1::Record record;
  *record.mutable_run() = StartedRun("two");
  ASSERT_TRUE(spool_->Append(record, Spool::Kind::kOther).ok());
  spool_.reset();
  Open();
  const auto runs = spool_->StartedRuns();
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ(runs->front().run_id(), "one");
  EXPECT_EQ(runs->front().benchmark(), "gemm");
}

TEST_F(SpoolTest, AFileOfTheFirstFormatIsTakenOver) {
  Open();
  Append("first");
  spool_.reset();
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(File().c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "DROP TABLE started; PRAGMA user_version = 1", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(handle);
  Open();
  EXPECT_THAT(Texts(), ElementsAre("first"));
  EXPECT_TRUE(spool_->NoteStarted(StartedRun("one")).ok());
}

TEST_F(SpoolTest, SecondProcessIsKeptOut) {
  Open();
  const auto second = Spool::Open(options_, clock_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(second.status().message(), "another process")) << second.status();
  Append("still works");
}

TEST_F(SpoolTest, UnusableFolderIsAClearError) {
  std::ofstream(folder_.path() + "/file") << "x";
  options_.folder = folder_.path() + "/file/spool";
  const absl::Status status = Spool::Open(options_, clock_).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::StrContains(status.message(), "/file")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "ENOTDIR")) << status;
}

TEST_F(SpoolTest, MemoryIsBoundedWhateverTheSpoolHolds) {
  Open();
  for (int i = 0; i < 300; ++i) Append(std::string(50'000, 'x'));
  sqlite3_memory_highwater(1);
  for (uint64_t sequence = 0; sequence < 300;) {
    const v1::RecordBatch batch = Read(sequence, 256 * 1024, 100);
    ASSERT_GT(batch.records_size(), 0);
    sequence = batch.records().rbegin()->sequence();
  }
  ASSERT_TRUE(spool_->Ack(300).ok());
  EXPECT_LT(sqlite3_memory_highwater(0), 640 * 1024);
  EXPECT_THAT(Texts(), IsEmpty());
}

}  // namespace
}  // namespace fleetmark::agent
