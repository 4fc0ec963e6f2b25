#include "common/base/status.h"

#include <errno.h>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

absl::StatusOr<int> Half(int n) {
  if (n % 2 != 0) return absl::InvalidArgumentError("odd");
  return n / 2;
}

absl::StatusOr<int> Quarter(int n) {
  FM_ASSIGN_OR_RETURN(const int half, Half(n));
  return Half(half);
}

TEST(Status, MacrosPassErrorsOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
}

TEST(Status, AnnotateKeepsTheCode) {
  EXPECT_TRUE(Annotate(absl::OkStatus(), "x").ok());
  const absl::Status status = Annotate(absl::DataLossError("bad block"), "file 7");
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "file 7: bad block");
}

TEST(Status, ErrnoKeepsItsName) {
  const absl::Status status = ErrnoStatus(EACCES, "open /x");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(), "open /x: Permission denied (EACCES)");
  EXPECT_EQ(ErrnoStatus(ENOSPC, "w").code(), absl::StatusCode::kResourceExhausted);
}

TEST(Status, OnlyErrorsThatPassByThemselvesAreRetryable) {
  EXPECT_TRUE(IsRetryable(absl::UnavailableError("")));
  EXPECT_TRUE(IsRetryable(absl::ResourceExhaustedError("")));
  EXPECT_FALSE(IsRetryable(absl::InvalidArgumentError("")));
  EXPECT_FALSE(IsRetryable(absl::DataLossError("")));
}

}  // namespace
}  // namespace fleetmark
