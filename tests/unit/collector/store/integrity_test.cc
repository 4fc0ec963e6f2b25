// A store whose files are damaged never gives a wrong value as right: it can't be opened, or says what it
// can't read, or gives what was stored. Check says what is wrong; repair saves the rest.
#include "collector/store/integrity.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/store/store.h"
#include "common/base/file.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
constexpr int kNodes = 3;
constexpr int kRuns = 300;

double ValueOf(int node, int run, int metric) { return 100 * node + run + 0.25 * metric; }

class IntegrityTest : public ::testing::Test {
 protected:
  IntegrityTest() : good_(folder_.path() + "/good"), bad_(folder_.path() + "/bad") {
    auto store = Store::Open(OptionsFor(good_));
    EXPECT_TRUE(store.ok()) << store.status();
    for (int node = 0; node < kNodes; ++node) {
      SenderRecords records{absl::StrCat("n", node), kEpoch, {}};
      for (int i = 0; i < kRuns; ++i) {
        v1::Run run = MakeRun(kStartNs + int64_t{i} * 1'000'000'000, 0, 3);
        for (int m = 0; m < 3; ++m) run.mutable_metrics(m)->set_value(ValueOf(node, i, m));
        records.records.push_back(RunRecord(static_cast<uint64_t>(i) + 1, run));
        if (i % 50 == 49) {
          EXPECT_TRUE((*store)->Commit({records}).ok());
          records.records.clear();
        }
      }
      if (node != 1) continue;
      EXPECT_TRUE((*store)->Compact().ok());
    }
  }

  static Store::Options OptionsFor(const std::string& folder) {
    Store::Options options;
    options.folder = folder;
    options.reserve_bytes = 0;
    return options;
  }

  void CopyGood() {
    fs::remove_all(bad_);
    fs::copy(good_, bad_, fs::copy_options::recursive);
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(bad_)) {
      if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  static void FlipBit(const fs::path& path, uint64_t bit) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto place = static_cast<std::streamoff>(bit / 8);
    file.seekg(place);
    const int byte = file.get();
    file.seekp(place);
    file.put(static_cast<char>(byte ^ (1 << (bit % 8))));
  }

  struct Read {
    size_t right = 0;
    bool complete = true;  // no error was told
  };
  // Reads everything. Samples that are wrong fail the test.
  static Read ReadAll(const Store& store) {
    Read read;
    std::string token;
    const auto all = store.ListSeries({}, Page{}, &token);
    if (!all.ok()) return {0, false};
    for (const v1::Series& series : *all) {
      const int node = series.key().node().empty() ? -1 : series.key().node().back() - '0';
      const int metric = series.key().metric().empty() ? -1 : series.key().metric().back() - '0';
      std::vector<std::pair<int64_t, double>> got;
      const absl::Status status =
          store.ScanSamples(series.series_id(), 0, kForEver, [&got](const v1::Sample& s) {
            got.emplace_back(s.time_unix_ns(), s.value());
            return true;
          });
      if (!status.ok()) read.complete = false;
      if (!status.ok()) continue;
      for (const auto& [time, value] : got) {
        const auto run = static_cast<int>((time - kStartNs) / 1'000'000'000);
        EXPECT_EQ(value, ValueOf(node, run, metric)) << series.key().ShortDebugString();
        ++read.right;
      }
    }
    return read;
  }

  TempFolder folder_;
  const std::string good_;
  const std::string bad_;
};

TEST_F(IntegrityTest, AGoodStoreIsWhole) {
  const auto report = CheckStore(good_);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(report->series, 3u * kNodes);
  EXPECT_EQ(report->runs, static_cast<uint64_t>(kNodes * kRuns));
  EXPECT_GT(report->chunk_columns, 0u);
  EXPECT_GT(report->rows, 0u);
  EXPECT_GT(report->files, 0u);
}

// FM_FLIP_ROUNDS=3000 for the long form: flips for each kind of file.
int FlipRounds() {
  const char* const rounds = std::getenv("FM_FLIP_ROUNDS");
  return rounds == nullptr ? 15 : std::atoi(rounds);
}

// Files whose damage no reader of samples meets are of no kind here: LOG, LOCK, OPTIONS and IDENTITY come
// under "rest".
std::string KindOf(const fs::path& path) {
  const std::string name = path.filename();
  if (path.extension() == ".sst") return "table";
  if (path.extension() == ".log") return "log";
  if (name.starts_with("MANIFEST")) return "manifest";
  return name == "CURRENT" ? "current" : "rest";
}

TEST_F(IntegrityTest, NoFlippedBitMakesAWrongValue) {
  constexpr size_t kAll = size_t{3} * kNodes * kRuns;
  std::mt19937_64 rng(17);
  for (const char* kind : {"table", "log", "manifest", "current", "rest"}) {
    int refused = 0, told = 0, whole = 0, lost_last = 0;
    for (int round = 0; round < FlipRounds(); ++round) {
      CopyGood();
      std::vector<fs::path> files = Files();
      std::erase_if(files, [kind](const fs::path& path) { return KindOf(path) != kind; });
      ASSERT_FALSE(files.empty()) << kind;
      const fs::path path = files[rng() % files.size()];
      const uint64_t bit = rng() % (8 * fs::file_size(path));
      FlipBit(path, bit);
      SCOPED_TRACE(absl::StrCat(path.filename().string(), ", bit ", bit));
      auto store = Store::Open(OptionsFor(bad_));
      if (!store.ok()) {
        EXPECT_FALSE(store.status().message().empty());
        ++refused;
        continue;
      }
      const Read read = ReadAll(**store);
      if (HasFailure()) return;
      if (!read.complete) {
        ++told;
      } else if (read.right == kAll) {
        ++whole;
      } else {
        // A damaged last commit can't be told from one that a crash cut off.
        ++lost_last;
        EXPECT_STREQ(kind, "log");
        EXPECT_GE(read.right, kAll - size_t{3} * 50);
      }
    }
    printf("%s: of %d flips %d refused, %d told in reading, %d without effect, %d lost the last commit\n",
           kind, FlipRounds(), refused, told, whole, lost_last);
    if (std::string(kind) != "rest") {
      EXPECT_GT(refused + told, 0) << kind;
    }
  }
}

// The places of the log's records, up to the end of its first block.
std::vector<size_t> RecordsOf(const std::string& log) {
  std::vector<size_t> places;
  for (size_t at = 0; at + 7 <= std::min<size_t>(log.size(), 32 * 1024);) {
    places.push_back(at);
    at += 7 + static_cast<uint8_t>(log[at + 4]) + size_t{256} * static_cast<uint8_t>(log[at + 5]);
  }
  return places;
}

// RocksDB would take the record for one that was being written when the process died, and forget what
// follows.
TEST_F(IntegrityTest, ADamagedLengthIsNotTakenForATornEnd) {
  const std::string folder = folder_.path() + "/small";
  {
    auto store = Store::Open(OptionsFor(folder));
    ASSERT_TRUE(store.ok());
    for (uint64_t i = 1; i <= 40; ++i) ASSERT_TRUE((*store)->Commit({{"n0", kEpoch, {RunRecord(i)}}}).ok());
  }
  for (const char* kind : {"log", "manifest"}) {
    size_t flips = 0;
    fs::path victim;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (KindOf(entry.path()) == kind && entry.file_size() > 0) victim = entry.path();
    }
    const std::vector<size_t> records = RecordsOf(*ReadFile(victim, 1 << 20));
    ASSERT_GT(records.size(), 5u);
    for (size_t i = 0; i + 1 < records.size(); ++i) {
      fs::remove_all(bad_);
      fs::copy(folder, bad_, fs::copy_options::recursive);
      FlipBit(fs::path(bad_) / victim.filename(), 8 * (records[i] + 5) + 6);  // 16 KiB more
      SCOPED_TRACE(absl::StrCat(victim.filename().string(), ", record at ", records[i]));
      auto store = Store::Open(OptionsFor(bad_));
      EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss) << store.status();
      ++flips;
    }
    EXPECT_GT(flips, 5u);
  }
}

// As after a crash: what was being written is dropped, and nothing else.
TEST_F(IntegrityTest, ATornEndIsNoDamage) {
  const std::string folder = folder_.path() + "/small";
  {
    auto store = Store::Open(OptionsFor(folder));
    ASSERT_TRUE(store.ok());
    for (uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE((*store)->Commit({{"n0", kEpoch, {RunRecord(i)}}}).ok());
  }
  fs::path log;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (KindOf(entry.path()) == "log" && entry.file_size() > 0) log = entry.path();
  }
  const std::vector<size_t> records = RecordsOf(*ReadFile(log, 1 << 20));
  const size_t size = fs::file_size(log);
  const size_t step = std::max<size_t>(1, (size - records.back()) / 12);
  for (size_t cut = size; cut > records.back(); cut -= step) {
    fs::remove_all(bad_);
    fs::copy(folder, bad_, fs::copy_options::recursive);
    fs::resize_file(fs::path(bad_) / log.filename(), cut);
    auto store = Store::Open(OptionsFor(bad_));
    ASSERT_TRUE(store.ok()) << store.status() << ", cut at " << cut << " of " << size;
    EXPECT_EQ(*(*store)->Watermark("n0", kEpoch), cut == size ? 20u : 19u);
  }
}

TEST_F(IntegrityTest, ADamagedTableIsNamedQuarantinedAndTheRestSaved) {
  CopyGood();
  // The largest table holds chunks or runs.
  fs::path largest;
  for (const fs::path& path : Files()) {
    if (path.extension() != ".sst") continue;
    if (largest.empty() || fs::file_size(path) > fs::file_size(largest)) largest = path;
  }
  ASSERT_FALSE(largest.empty());
  FlipBit(largest, 8 * (fs::file_size(largest) / 3));
  const auto report = CheckStore(bad_);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_FALSE(report->whole());
  EXPECT_THAT(report->problems[0], HasSubstr(largest.filename().string()));
  EXPECT_THAT(report->problems[0], HasSubstr("of family"));

  const auto repair = RepairStore(bad_);
  ASSERT_TRUE(repair.ok()) << repair.status();
  ASSERT_EQ(repair->quarantined.size(), 1u);
  EXPECT_EQ(repair->quarantined[0].name, largest.filename().string());
  EXPECT_GT(repair->quarantined[0].entries, 0u);
  EXPECT_TRUE(fs::exists(fs::path(repair->quarantine) / largest.filename()));
  auto store = Store::Open(OptionsFor(bad_));
  ASSERT_TRUE(store.ok()) << store.status();
  ReadAll(**store);
  store->reset();
  const auto after = CheckStore(bad_);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_THAT(after->problems, IsEmpty());
}

TEST_F(IntegrityTest, AStoreThatIsOpenIsNotRepaired) {
  CopyGood();
  auto store = Store::Open(OptionsFor(bad_));
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(RepairStore(bad_).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace fleetmark::collector
