#include "common/model/outcome_name.h"

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(OutcomeName, IsLowerCaseWithoutPrefix) {
  EXPECT_EQ(OutcomeName(v1::OUTCOME_OK), "ok");
  EXPECT_EQ(OutcomeName(v1::OUTCOME_CANCELLED), "cancelled");
}

}  // namespace
}  // namespace fleetmark
