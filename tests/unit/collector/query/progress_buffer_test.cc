#include "collector/query/progress_buffer.h"

#include <string>
#include <thread>

#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

v1::RunProgress Progress(double fraction, v1::RunProgress::State state = v1::RunProgress::STATE_RUNNING) {
  v1::RunProgress progress;
  progress.set_fraction(fraction);
  progress.set_state(state);
  return progress;
}

class ProgressBufferTest : public testing::Test {
 protected:
  ProgressBuffer::Got Next() { return buffer_.Next(clock_, absl::Seconds(5), &last_, &why_); }

  FakeClock clock_;
  ProgressBuffer buffer_{2};
  v1::RunProgress last_;
  absl::Status why_;
};

TEST_F(ProgressBufferTest, DropsTheOldestAndKeepsTheLast) {
  for (double fraction : {0.1, 0.2, 0.3}) buffer_.Push(Progress(fraction));
  buffer_.Push(Progress(1, v1::RunProgress::STATE_FINISHED));
  buffer_.Close(absl::OkStatus());
  ASSERT_EQ(Next(), ProgressBuffer::Got::kMessage);
  EXPECT_EQ(last_.fraction(), 0.3);
  ASSERT_EQ(Next(), ProgressBuffer::Got::kMessage);
  EXPECT_TRUE(IsLast(last_));
  EXPECT_EQ(Next(), ProgressBuffer::Got::kClosed);
}

TEST_F(ProgressBufferTest, GivesTheFirstReasonForClosing) {
  buffer_.Close(absl::UnavailableError("gone"));
  buffer_.Close(absl::OkStatus());
  buffer_.Push(Progress(0.1));
  EXPECT_EQ(Next(), ProgressBuffer::Got::kClosed);
  EXPECT_TRUE(absl::IsUnavailable(why_));
}

TEST_F(ProgressBufferTest, WaitsUntilTheTimeout) {
  std::thread advance([this] {
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Seconds(5));
  });
  EXPECT_EQ(Next(), ProgressBuffer::Got::kTimeout);
  advance.join();
}

TEST_F(ProgressBufferTest, WakesAReader) {
  std::thread push([this] {
    clock_.AwaitWaiters(1);
    buffer_.Push(Progress(0.7));
  });
  EXPECT_EQ(Next(), ProgressBuffer::Got::kMessage);
  EXPECT_EQ(last_.fraction(), 0.7);
  push.join();
}

}  // namespace
}  // namespace fleetmark::collector
