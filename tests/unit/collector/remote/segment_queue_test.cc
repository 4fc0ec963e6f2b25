#include "collector/remote/segment_queue.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

namespace fs = std::filesystem;

class SegmentQueueTest : public testing::Test {
 protected:
  SegmentQueueTest() {
    options_.folder = testing::TempDir() + "segment_queue." + std::to_string(getpid());
    options_.segment_bytes = 100;
    options_.max_bytes = 10'000;
    fs::remove_all(options_.folder);
    Open();
  }
  ~SegmentQueueTest() override { fs::remove_all(options_.folder); }

  void Open() {
    queue_.reset();
    auto queue = SegmentQueue::Open(options_);
    ASSERT_TRUE(queue.ok()) << queue.status();
    queue_ = *std::move(queue);
  }

  void Append(int count, int from = 0) {
    for (int i = from; i < from + count; ++i) {
      ASSERT_TRUE(queue_->Append("record " + std::to_string(i), 10).ok());
    }
  }

  std::vector<std::string> TakeAll(uint64_t max_weight = 30) {
    std::vector<std::string> all;
    while (true) {
      const auto batch = queue_->Peek(max_weight, 1 << 20);
      EXPECT_TRUE(batch.ok()) << batch.status();
      if (!batch.ok() || batch->records.empty()) return all;
      all.insert(all.end(), batch->records.begin(), batch->records.end());
      EXPECT_TRUE(queue_->Advance(batch->end).ok());
    }
  }

  std::vector<std::string> Expected(int from, int to) {
    std::vector<std::string> out;
    for (int i = from; i < to; ++i) out.push_back("record " + std::to_string(i));
    return out;
  }

  std::vector<fs::path> Segments() {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(options_.folder)) {
      if (entry.path().extension() == ".seg") out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  SegmentQueue::Options options_;
  std::unique_ptr<SegmentQueue> queue_;
};

TEST_F(SegmentQueueTest, InOrderAndInBatches) {
  Append(50);
  EXPECT_EQ(queue_->pending_weight(), 500U);
  const auto batch = queue_->Peek(35, 1 << 20);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->records, Expected(0, 3));
  EXPECT_EQ(batch->weight, 30U);
  // Until Advance the same again; and at least one, however small the bound.
  EXPECT_EQ(queue_->Peek(1, 1)->records, Expected(0, 1));
  EXPECT_EQ(TakeAll(), Expected(0, 50));
  EXPECT_EQ(queue_->pending_weight(), 0U);
  EXPECT_LE(Segments().size(), 2U);
  EXPECT_EQ(queue_->dropped_weight(), 0U);
}

TEST_F(SegmentQueueTest, GoesOnWhereItWas) {
  Append(20);
  const auto batch = queue_->Peek(70, 1 << 20);
  ASSERT_TRUE(queue_->Advance(batch->end).ok());
  Open();
  EXPECT_EQ(queue_->pending_weight(), 130U);
  Append(5, 20);
  EXPECT_EQ(TakeAll(), Expected(7, 25));
  Open();
  EXPECT_EQ(TakeAll(), std::vector<std::string>());
}

TEST_F(SegmentQueueTest, AtTheBoundTheOldestGo) {
  options_.max_bytes = 500;
  Open();
  Append(100);
  EXPECT_LE(queue_->bytes(), 500U);
  const std::vector<std::string> left = TakeAll();
  EXPECT_EQ(left, Expected(100 - static_cast<int>(left.size()), 100));
  EXPECT_EQ(queue_->dropped_weight(), (100 - left.size()) * 10);
}

// A crash can cut the last record anywhere.
TEST_F(SegmentQueueTest, ACutTailIsForgotten) {
  Append(4);
  const fs::path last = Segments().back();
  const uint64_t size = fs::file_size(last);
  ASSERT_GT(size, 0U);
  const std::string kept = options_.folder + ".kept";
  fs::remove_all(kept);
  fs::copy(options_.folder, kept, fs::copy_options::recursive);
  for (uint64_t cut = 1; cut <= 20; ++cut) {
    queue_.reset();
    fs::remove_all(options_.folder);
    fs::copy(kept, options_.folder, fs::copy_options::recursive);
    fs::resize_file(last, size - cut);
    Open();
    EXPECT_EQ(TakeAll(), Expected(0, 3)) << cut;
    Append(1, 7);
    EXPECT_EQ(TakeAll(), Expected(7, 8));
  }
  fs::remove_all(kept);
}

// A wrong record is never given out as right.
TEST_F(SegmentQueueTest, AFlippedBitLosesItsSegmentAlone) {
  Append(40);
  queue_.reset();
  const std::vector<fs::path> segments = Segments();
  ASSERT_GT(segments.size(), 4U);
  std::mt19937 rng(3);
  std::fstream file(segments[1], std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(rng() % 20);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 4));
  file.close();
  Open();
  const std::vector<std::string> all = Expected(0, 40);
  std::vector<std::string> got = TakeAll();
  EXPECT_LT(got.size(), 40U);
  EXPECT_GT(got.size(), 30U);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), got.begin(), got.end(),
                            [](const std::string& a, const std::string& b) {
                              return std::stoi(a.substr(7)) < std::stoi(b.substr(7));
                            }));
  EXPECT_GT(queue_->dropped_weight(), 0U);
}

TEST_F(SegmentQueueTest, TooLargeARecordIsRefused) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(queue_->Append(std::string(SegmentQueue::kMaxRecordBytes + 1, 'x'), 1)));
  EXPECT_TRUE(queue_->Append(std::string(SegmentQueue::kMaxRecordBytes, 'x'), 1).ok());
  Open();
  EXPECT_EQ(TakeAll().size(), 1U);
}

}  // namespace
}  // namespace fleetmark::collector
