#include "agent/upload/upload_window.h"

#include "gtest/gtest.h"

namespace fleetmark::agent {
namespace {

TEST(UploadWindowTest, IsBoundedByBytesAndBatches) {
  UploadWindow window(100, 3);
  EXPECT_TRUE(window.MaySend());
  window.Sent(1, 1000);  // alone, whatever its size
  EXPECT_FALSE(window.MaySend());
  EXPECT_TRUE(window.Acked(1));
  for (uint64_t sequence : {2, 3, 4}) {
    EXPECT_TRUE(window.MaySend());
    window.Sent(sequence, 10);
  }
  EXPECT_FALSE(window.MaySend());
}

TEST(UploadWindowTest, LateAndDoubledAcknowledgementsChangeNothing) {
  UploadWindow window(100, 10);
  window.Sent(5, 10);
  window.Sent(9, 10);
  EXPECT_TRUE(window.Acked(9));
  EXPECT_TRUE(window.Acked(5));
  EXPECT_TRUE(window.Acked(9));
  EXPECT_EQ(window.acked(), 9u);
  EXPECT_EQ(window.sent(), 9u);
  EXPECT_TRUE(window.empty());
}

TEST(UploadWindowTest, AcknowledgementInsideABatchKeepsTheBatchInFlight) {
  UploadWindow window(100, 10);
  window.Sent(5, 10);
  EXPECT_TRUE(window.Acked(3));
  EXPECT_FALSE(window.empty());
  window.Rewind();
  EXPECT_EQ(window.sent(), 3u);
}

TEST(UploadWindowTest, WhatWasNeverSentCannotBeAcknowledged) {
  UploadWindow window(100, 10);
  window.Reset(4);
  window.Sent(6, 10);
  EXPECT_FALSE(window.Acked(7));
  EXPECT_EQ(window.acked(), 4u);
  window.Reset(4);
  EXPECT_TRUE(window.Acked(6)) << "sent over an earlier connection";
  window.Forget();
  EXPECT_FALSE(window.Acked(6)) << "of another epoch";
}

}  // namespace
}  // namespace fleetmark::agent
