#include "common/model/units.h"

#include <set>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(Units, AWrongUnitNamesTheNearest) {
  EXPECT_TRUE(CheckUnit("GB/s").ok());
  EXPECT_EQ(CheckUnit("GB/sec").message(), "unit 'GB/sec' is not known; did you mean 'GB/s'?");
  EXPECT_FALSE(CheckUnit("").ok());
}

TEST(Units, ConvertWithinADimension) {
  EXPECT_DOUBLE_EQ(ConvertUnit(1, "GiB/s", "MB/s").value(), 1073.741824);
  EXPECT_DOUBLE_EQ(ConvertUnit(50, "%", "1").value(), 0.5);
  EXPECT_DOUBLE_EQ(ConvertUnit(3, "ms", "us").value(), 3000);
  EXPECT_EQ(ConvertUnit(3, "ms", "GB").status().message(), "unit 'ms' can't be converted to 'GB'");
}

TEST(Units, NoUnitIsListedTwice) {
  std::set<std::string_view> names;
  for (const Unit& unit : AllUnits()) EXPECT_TRUE(names.insert(unit.name).second) << unit.name;
}

}  // namespace
}  // namespace fleetmark
