#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "plugins/core_to_core/ping_pong.h"
#include "plugins/sdk/cpp/cpus.h"

namespace fleetmark::core_to_core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChoosePairs, AllWhereTheyAreFew) {
  EXPECT_THAT(ChoosePairs({0, 2, 5}, 10), ElementsAre(Pair(0, 2), Pair(0, 5), Pair(2, 5)));
  EXPECT_THAT(ChoosePairs({3}, 10), IsEmpty());
  EXPECT_THAT(ChoosePairs({}, 10), IsEmpty());
}

TEST(ChoosePairs, OfManyABoundedNumberSpreadOverAll) {
  std::vector<int> cpus;
  for (int i = 0; i < 256; ++i) cpus.push_back(i);
  const std::vector<Pair> pairs = ChoosePairs(cpus, 32);
  ASSERT_EQ(pairs.size(), 32U);
  const std::set<Pair> different(pairs.begin(), pairs.end());
  EXPECT_EQ(different.size(), 32U);
  std::set<int> firsts;
  for (const Pair& pair : pairs) {
    EXPECT_LT(pair.first, pair.second);
    firsts.insert(pair.first);
  }
  EXPECT_GT(firsts.size(), 20U);
  EXPECT_GT(*firsts.rbegin(), 128);
  EXPECT_EQ(ChoosePairs(cpus, 32), pairs);
}

TEST(MeasurePair, TheBallComesBackAndTakesTime) {
  const std::vector<int> cpus = plugin::AllowedCpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU only";
  const PairResult result = MeasurePair({cpus[0], cpus[1]}, 1000, 2);
  ASSERT_EQ(result.fault, Fault::kNone);
  EXPECT_GT(result.nanoseconds, 0.5);
}

TEST(MeasurePair, ACpuThatIsNotThereIsToldAtOnce) {
  EXPECT_EQ(MeasurePair({plugin::AllowedCpus().at(0), 1 << 19}, 1000, 2).fault, Fault::kNotPinned);
}

}  // namespace
}  // namespace fleetmark::core_to_core
