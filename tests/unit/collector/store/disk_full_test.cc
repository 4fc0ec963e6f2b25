// A small file system that fills up: the store refuses what it can't keep, goes on reading, takes writes
// again once there is space, and has everything that it acknowledged.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "collector/store/store.h"
#include "common/base/file.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

constexpr off_t kBallastBytes = 24 << 20;

// 96 MiB of memory as a file system.
class SmallFileSystem {
 public:
  SmallFileSystem() : mounted_(mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=96m") == 0) {}
  ~SmallFileSystem() {
    if (mounted_) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const std::string& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
  const bool mounted_;
};

// Runs with logs that do not shrink.
v1::Run LargeRun(uint64_t sequence) {
  v1::Run run =
      MakeRun(kStartNs + static_cast<int64_t>(sequence) * 1'000'000'000, static_cast<double>(sequence));
  std::string log;
  uint64_t state = sequence * 0x9E3779B97F4A7C15;
  for (int i = 0; i < 8000; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    log.push_back(static_cast<char>('0' + (state >> 33) % 64));
  }
  run.set_log_tail(log);
  return run;
}

TEST(DiskFull, RefusesGoesOnReadingAndComesBackByItself) {
  const SmallFileSystem fs;
  if (!fs.mounted()) GTEST_SKIP() << "may not mount here";
  Store::Options options;
  options.folder = fs.path() + "/store";
  options.write_buffer_bytes = 2 << 20;
  options.cache_bytes = 1 << 20;
  options.reserve_bytes = 24 << 20;
  const std::string ballast = fs.path() + "/ballast";
  {
    const UniqueFd fd(open(ballast.c_str(), O_CREAT | O_WRONLY, 0600));
    ASSERT_EQ(fallocate(fd.get(), 0, 0, kBallastBytes), 0);
  }
  uint64_t acknowledged = 0;
  const auto commit = [&acknowledged](Store& store) {
    const auto result = store.Commit(
        {SenderRecords{"n1", kEpoch, {RunRecord(acknowledged + 1, LargeRun(acknowledged + 1))}}});
    if (result.ok()) ++acknowledged;
    return result.status();
  };
  auto store = Store::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  absl::Status status;
  // A compaction may make room between a refusal and the look at the store's health.
  for (int i = 0; i < 100'000 && (status.ok() || (*store)->Health().ok()); ++i) status = commit(**store);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GT(acknowledged, 100u);
  EXPECT_EQ((*store)->Health().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*store)->LastSamples(1, std::numeric_limits<int64_t>::max(), 1)->front().value(),
            static_cast<double>(acknowledged));

  ASSERT_EQ(unlink(ballast.c_str()), 0);
  const uint64_t before = acknowledged;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(commit(**store).ok());
  EXPECT_EQ(acknowledged, before + 200);
  store->reset();
  store = Store::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(*(*store)->Watermark("n1", kEpoch), acknowledged);
  uint64_t expected = 1;
  ASSERT_TRUE((*store)
                  ->ScanSamples(1, 0, std::numeric_limits<int64_t>::max(),
                                [&expected](const v1::Sample& sample) {
                                  EXPECT_EQ(sample.value(), static_cast<double>(expected++));
                                  return true;
                                })
                  .ok());
  EXPECT_EQ(expected, acknowledged + 1);
}

}  // namespace
}  // namespace fleetmark::collector
