#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "plugins/mem_latency/pointer_chase.h"

namespace fleetmark::mem_latency {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RandomCycle, VisitsEveryElementOnce) {
  for (const size_t count : {2UL, 3UL, 100UL, 4097UL}) {
    const std::vector<uint32_t> next = RandomCycle(count, 7);
    size_t at = 0;
    size_t steps = 0;
    do {
      at = next[at];
      ++steps;
    } while (at != 0 && steps <= count);
    EXPECT_EQ(steps, count);
  }
}

TEST(RandomCycle, IsNotSequential) {
  const std::vector<uint32_t> next = RandomCycle(10000, 7);
  size_t neighbours = 0;
  for (size_t i = 0; i < next.size(); ++i) neighbours += next[i] == i + 1 ? 1 : 0;
  EXPECT_LT(neighbours, 20U);
}

TEST(Chain, IsOneCycleAndTakesTime) {
  const auto chain = Chain::Create(64 * 1024);
  ASSERT_TRUE(chain.has_value());
  EXPECT_TRUE(chain->IsOneCycle());
  const double nanoseconds = chain->MeasureNanoseconds(100000, 3);
  EXPECT_GT(nanoseconds, 0.1);
  EXPECT_LT(nanoseconds, 10000);
}

TEST(Sizes, AreReadAndWritten) {
  EXPECT_THAT(ParseSizes("16KiB,8MiB,1GiB,64B"), ElementsAre(16384, 8388608, 1073741824, 64));
  for (const char* bad : {"", "16", "16KB", "0KiB", "16KiB,", ",", "16KiB 8MiB", "-1KiB", "99999999999GiB"}) {
    EXPECT_THAT(ParseSizes(bad), IsEmpty()) << bad;
  }
  EXPECT_EQ(FormatSize(16384), "16KiB");
  EXPECT_EQ(FormatSize(size_t{1} << 30), "1GiB");
  EXPECT_EQ(FormatSize(100), "100B");
}

}  // namespace
}  // namespace fleetmark::mem_latency
