#include "collector/detect/reference.h"

#include <cmath>
#include <limits>
#include <optional>
#include <ostream>
#include <string>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::nullopt_t kNull = std::nullopt;

v1::Reference Make(double value, std::optional<double> lower, std::optional<double> upper) {
  v1::Reference reference;
  reference.set_value(value);
  if (lower.has_value()) reference.set_lower(*lower);
  if (upper.has_value()) reference.set_upper(*upper);
  return reference;
}

struct BoundsCase {
  double value;
  std::optional<double> lower;
  std::optional<double> upper;
  double low;
  double high;
};

TEST(Reference, BoundsFollowTheSignOfTheReference) {
  const BoundsCase cases[] = {
      {100, -0.05, 0.1, 95, 110},  {100, -1.0, kNull, 0, kInf},      {100, kNull, 0.25, -kInf, 125},
      {100, 0.0, 0.0, 100, 100},   {100, -0.05, 3.0, 95, 400},       {-100, -0.05, 0.1, -105, -90},
      {-100, -2.0, 1.0, -300, 0},  {-100, kNull, 0.5, -kInf, -50},   {-100, -0.5, kNull, -150, kInf},
      {0, -0.1, 0.4, -0.1, 0.4},   {0, -3.0, kNull, -3, kInf},       {0, kNull, 7.0, -kInf, 7},
      {0, 0.0, 0.0, 0, 0},         {100, kNull, kNull, -kInf, kInf}, {-100, kNull, kNull, -kInf, kInf},
      {0.1, -1.0, kNull, 0, kInf},
  };
  for (const BoundsCase& c : cases) {
    const auto bounds = BoundsOf(Make(c.value, c.lower, c.upper));
    ASSERT_TRUE(bounds.ok()) << c.value << ": " << bounds.status();
    EXPECT_TRUE(bounds->checked);
    EXPECT_DOUBLE_EQ(bounds->low, c.low) << c.value;
    EXPECT_DOUBLE_EQ(bounds->high, c.high) << c.value;
  }
}

TEST(Reference, TolerancesOutsideTheirRangeAreRefused) {
  const struct {
    double value;
    std::optional<double> lower;
    std::optional<double> upper;
    std::string field;
  } cases[] = {
      {100, 0.1, 0.2, "lower"},   {100, -1.01, 0.2, "lower"},  {100, -0.1, -0.1, "upper"},
      {-100, 0.1, 0.2, "lower"},  {-100, -0.1, 1.01, "upper"}, {-100, -0.1, -0.1, "upper"},
      {0, 0.1, 0.2, "lower"},     {0, -0.1, -0.2, "upper"},    {100, kNan, 0.1, "lower"},
      {100, -0.1, kNan, "upper"}, {kNan, -0.1, 0.1, "value"},  {kInf, -0.1, 0.1, "value"},
  };
  for (const auto& c : cases) {
    const absl::Status status = BoundsOf(Make(c.value, c.lower, c.upper)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.value;
    EXPECT_EQ(status.message().find(c.field), 0u) << status;
  }
}

ReferenceResult Compare(const v1::Reference& reference, double value) {
  const auto bounds = BoundsOf(reference);
  EXPECT_TRUE(bounds.ok());
  return CompareWithBounds(*bounds, value);
}

TEST(Reference, BoundsAreInclusive) {
  const v1::Reference reference = Make(100, -0.05, 0.1);
  EXPECT_EQ(Compare(reference, 95), ReferenceResult::kWithin);
  EXPECT_EQ(Compare(reference, std::nextafter(95, 0)), ReferenceResult::kBelow);
  EXPECT_EQ(Compare(reference, 100 * 1.1), ReferenceResult::kWithin);
  EXPECT_EQ(Compare(reference, 111), ReferenceResult::kAbove);
}

TEST(Reference, ZeroIsWithinALowerToleranceOfMinusOne) {
  EXPECT_EQ(Compare(Make(0.1, -1.0, kNull), 0), ReferenceResult::kWithin);
  EXPECT_EQ(Compare(Make(0.1, -1.0, kNull), -1e-9), ReferenceResult::kBelow);
}

TEST(Reference, NaNIsNeverWithin) {
  EXPECT_EQ(Compare(Make(100, kNull, kNull), kNan), ReferenceResult::kNotANumber);
  EXPECT_EQ(Compare(Make(0, -0.1, 0.1), kNan), ReferenceResult::kNotANumber);
  EXPECT_EQ(Compare(Make(100, kNull, kNull), kInf), ReferenceResult::kWithin);
}

// ReFrame writes "no reference" as 0 with two nulls; a 0 with tolerances is a real one.
TEST(Reference, ZeroWithoutTolerancesIsNotChecked) {
  for (double value : {-1e9, 0.0, 1.0, kInf, kNan}) {
    EXPECT_EQ(Compare(Make(0, kNull, kNull), value), ReferenceResult::kWithin) << value;
  }
  EXPECT_EQ(Compare(Make(0, -0.1, 0.4), 0.5), ReferenceResult::kAbove);
}

}  // namespace
}  // namespace fleetmark::collector
