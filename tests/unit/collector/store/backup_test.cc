// A backup made while the store is written to is a whole store with everything acknowledged before; it is
// taken back only where nothing is overwritten, and an interrupted restore is finished by running it again.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/store/backups.h"
#include "collector/store/integrity.h"
#include "collector/store/restore.h"
#include "collector/store/store.h"
#include "common/base/file.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() : data_(folder_.path() + "/data"), target_(folder_.path() + "/backups") { OpenStore(); }

  void OpenStore() {
    Store::Options options;
    options.folder = data_;
    options.reserve_bytes = 0;
    options.write_buffer_bytes = 1 << 20;
    auto store = Store::Open(options);
    EXPECT_TRUE(store.ok()) << store.status();
    if (store.ok()) store_ = *std::move(store);
  }

  std::unique_ptr<Backups> MakeBackups(const std::string& target, size_t kept = 7, uint64_t reserve = 0) {
    return std::make_unique<Backups>(Backups::Options{target, data_, kept, reserve}, *store_, clock_);
  }

  // Sequences and values ascend from 1.
  void Commit(uint64_t count) {
    SenderRecords batch{"n1", kEpoch, {}};
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t sequence = ++committed_;
      batch.records.push_back(RunRecord(
          sequence,
          MakeRun(kStartNs + static_cast<int64_t>(sequence) * 1'000'000, static_cast<double>(sequence), 3)));
    }
    ASSERT_TRUE(store_->Commit({batch}).ok());
  }

  // How many runs the store in the folder has, all of them right.
  static uint64_t CountAll(const std::string& folder) {
    Store::Options options;
    options.folder = folder;
    options.reserve_bytes = 0;
    auto store = Store::Open(options);
    EXPECT_TRUE(store.ok()) << store.status();
    if (!store.ok()) return 0;
    const uint64_t stored = *(*store)->Watermark("n1", kEpoch);
    for (uint64_t series = 1; series <= 3 && stored > 0; ++series) {
      uint64_t expected = 1;
      EXPECT_TRUE((*store)
                      ->ScanSamples(series, 0, kForEver,
                                    [&expected](const v1::Sample& sample) {
                                      EXPECT_EQ(sample.value(), static_cast<double>(expected++));
                                      return true;
                                    })
                      .ok());
      EXPECT_EQ(expected, stored + 1);
    }
    EXPECT_EQ((*store)->Counts()->runs, stored);
    return stored;
  }

  absl::StatusOr<RestoreReport> Restore(const std::string& backup, bool move_aside = false) {
    problems_ = {};
    return RestoreStore({backup, data_, move_aside, "now"}, &problems_);
  }

  TempFolder folder_;
  const std::string data_;
  const std::string target_;
  FakeClock clock_;
  std::unique_ptr<Store> store_;
  uint64_t committed_ = 0;
  IntegrityReport problems_;
};

TEST_F(BackupTest, UnderLoadItHasWhatWasAcknowledgedBefore) {
  const auto backups = MakeBackups(target_, 100);
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> acknowledged = 0;
  std::thread writer([&] {
    while (!stop) {
      Commit(7);
      acknowledged = committed_;
    }
  });
  std::vector<std::pair<std::string, uint64_t>> made;
  for (int i = 0; i < 12; ++i) {
    const uint64_t before = acknowledged;
    clock_.Advance(absl::Seconds(1));
    const auto one = backups->Make();
    ASSERT_TRUE(one.ok()) << one.status();
    made.emplace_back(one->folder, before);
    if (i == 6) {
      ASSERT_TRUE(store_->Compact().ok());
    }
  }
  stop = true;
  writer.join();
  for (const auto& [folder, before] : made) {
    SCOPED_TRACE(folder);
    const auto report = CheckStore(folder);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->problems, IsEmpty());
    const uint64_t count = CountAll(folder);
    EXPECT_GE(count, before);
    EXPECT_EQ(count % 7, 0u) << "half a commit is in the backup";
  }
}

TEST_F(BackupTest, KeepsTheNewestAndNothingElseIsRemoved) {
  const auto backups = MakeBackups(target_, 2);
  fs::create_directories(target_ + "/notes");
  fs::create_directories(target_ + "/20200101T000000.000Z.unfinished");
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(absl::Minutes(1));
    Commit(1);
    const auto made = backups->Make();
    ASSERT_TRUE(made.ok()) << made.status();
    names.push_back(fs::path(made->folder).filename());
    EXPECT_THAT(made->removed, i < 2 ? SizeIs(0) : SizeIs(1));
    if (i >= 2) {
      EXPECT_EQ(made->removed[0], names[static_cast<size_t>(i) - 2]);
    }
  }
  EXPECT_THAT(ListBackups(target_), ElementsAre(names[2], names[3]));
  EXPECT_TRUE(fs::exists(target_ + "/notes"));
  EXPECT_FALSE(fs::exists(target_ + "/20200101T000000.000Z.unfinished"));
  EXPECT_FALSE(fs::exists(data_ + "/backup_staging"));
}

TEST_F(BackupTest, SaysWhyItMakesNone) {
  EXPECT_THAT(MakeBackups("")->Make().status().message(), HasSubstr("store.backup_dir is not set"));
  std::ofstream(folder_.path() + "/file") << "x";
  const auto blocked = MakeBackups(folder_.path() + "/file")->Make();
  EXPECT_EQ(blocked.status().code(), absl::StatusCode::kFailedPrecondition);
  const auto full = MakeBackups(target_, 7, uint64_t{1} << 60)->Make();
  EXPECT_EQ(full.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(full.status().message(), HasSubstr("MiB free where"));
  const auto stopped = MakeBackups(target_);
  stopped->Stop();
  EXPECT_EQ(stopped->Make().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(ListBackups(target_), IsEmpty());
}

// On a file system of its own everything is copied; one that is too small is refused before it is full, and
// the store goes on.
TEST_F(BackupTest, CopiesToAnotherFileSystem) {
  TempFolder other;
  if (mount("tmpfs", other.path().c_str(), "tmpfs", 0, "size=64m") != 0) GTEST_SKIP() << "may not mount here";
  Commit(500);
  {
    const auto backups = MakeBackups(other.path());
    const auto made = backups->Make();
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_FALSE(made->linked);
    EXPECT_EQ(CountAll(made->folder), 500u);
    const UniqueFd ballast(open((other.path() + "/ballast").c_str(), O_CREAT | O_WRONLY, 0600));
    struct statvfs space {};
    ASSERT_EQ(statvfs(other.path().c_str(), &space), 0);
    const auto free_bytes = static_cast<off_t>(space.f_bavail * space.f_frsize);
    ASSERT_EQ(fallocate(ballast.get(), 0, 0, free_bytes - (100 << 10)), 0);
    Commit(2000);
    clock_.Advance(absl::Seconds(1));
    EXPECT_EQ(backups->Make().status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(ListBackups(other.path()), SizeIs(1));
    Commit(1);
  }
  umount2(other.path().c_str(), MNT_DETACH);
}

TEST_F(BackupTest, RestoresIntoAnEmptyFolderAndLeavesTheBackupAsItIs) {
  Commit(300);
  const auto made = MakeBackups(target_)->Make();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->linked);
  store_.reset();
  fs::remove_all(data_);
  const auto restored = Restore(made->folder);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_THAT(restored->moved_aside, IsEmpty());
  EXPECT_EQ(restored->checked.runs, 300u);
  EXPECT_FALSE(fs::exists(data_ + "/restored_copy"));
  OpenStore();
  Commit(50);  // and compacting does not touch the backup's files
  ASSERT_TRUE(store_->Compact().ok());
  store_.reset();
  EXPECT_EQ(CountAll(data_), 350u);
  EXPECT_TRUE(CheckStore(made->folder)->whole());
  EXPECT_EQ(CountAll(made->folder), 300u);
}

TEST_F(BackupTest, MovesWhatIsThereAsideOnlyWhenAsked) {
  Commit(10);
  const auto made = MakeBackups(target_)->Make();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(Restore(made->folder, true).status().code(), absl::StatusCode::kFailedPrecondition)
      << "a store that is open was replaced";
  Commit(10);
  store_.reset();
  fs::create_directories(data_ + "/remote_write");
  const auto refused = Restore(made->folder);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("--move_aside"));
  EXPECT_EQ(CountAll(data_), 20u);
  const auto restored = Restore(made->folder, true);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(CountAll(data_), 10u);
  EXPECT_EQ(CountAll(restored->moved_aside), 20u);
  EXPECT_TRUE(fs::exists(data_ + "/remote_write"));
}

TEST_F(BackupTest, RefusesWhatIsNoBackupOrIsDamaged) {
  Commit(300);
  ASSERT_TRUE(store_->Compact().ok());
  const auto made = MakeBackups(target_)->Make();
  ASSERT_TRUE(made.ok());
  store_.reset();
  EXPECT_EQ(Restore(folder_.path(), true).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Restore(data_, true).status().code(), absl::StatusCode::kFailedPrecondition);
  for (const auto& entry : fs::directory_iterator(made->folder)) {
    if (entry.path().extension() != ".sst") continue;
    // Linked: the store's own must stay good.
    const std::string bytes = *ReadFile(entry.path(), 64 << 20);
    fs::remove(entry.path());
    std::ofstream(entry.path(), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
    break;
  }
  const auto damaged = Restore(made->folder, true);
  EXPECT_EQ(damaged.status().code(), absl::StatusCode::kDataLoss) << damaged.status();
  EXPECT_FALSE(problems_.whole());
  EXPECT_EQ(CountAll(data_), 300u);
}

// Whatever the moment at which it was interrupted.
TEST_F(BackupTest, AnInterruptedRestoreIsFinishedByRunningItAgain) {
  Commit(100);
  const auto made = MakeBackups(target_)->Make();
  ASSERT_TRUE(made.ok());
  store_.reset();
  // As after a kill while files were being moved: the mark, half of the old store, half of the new.
  std::ofstream(data_ + "/RESTORE_UNDER_WAY") << "restoring\n";
  fs::create_directories(data_ + "/restored_copy");
  fs::rename(data_ + "/CURRENT", data_ + "/restored_copy/CURRENT");
  Store::Options options;
  options.folder = data_;
  const auto opened = Store::Open(options);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), HasSubstr("interrupted; run it again"));
  const auto restored = Restore(made->folder);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(CountAll(data_), 100u);
}

}  // namespace
}  // namespace fleetmark::collector
