#include "common/model/message_bytes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark {
namespace {

TEST(MessageBytesTest, DontDependOnTheOrderOfAMapsEntries) {
  v1::Metric up, down;
  for (int i = 0; i < 100; ++i) (*up.mutable_labels())[absl::StrCat("label_", i)] = "value";
  for (int i = 99; i >= 0; --i) (*down.mutable_labels())[absl::StrCat("label_", i)] = "value";
  EXPECT_EQ(DeterministicBytes(up), DeterministicBytes(down));
  v1::Metric read;
  ASSERT_TRUE(read.ParseFromString(DeterministicBytes(up)));
  EXPECT_EQ(read.labels_size(), 100);
}

TEST(MessageBytesTest, DifferForMessagesThatDiffer) {
  v1::Metric one, other;
  (*one.mutable_labels())["device"] = "0";
  (*other.mutable_labels())["device"] = "1";
  EXPECT_NE(DeterministicBytes(one), DeterministicBytes(other));
}

}  // namespace
}  // namespace fleetmark
