#include "collector/query/quantile_pools.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(QuantilePools, FewNumbersGiveExactQuantiles) {
  QuantilePools pools;
  ASSERT_TRUE(pools.Add({1, 7}, {5, 1}).ok());
  ASSERT_TRUE(pools.Add({0, 9}, {2}).ok());
  ASSERT_TRUE(pools.Add({1, 7}, {kNan, 3, 4, 2}).ok());
  ASSERT_TRUE(pools.Add({2, 0}, {kNan}).ok());
  const auto answers = pools.Quantiles({0, 0.1, 0.5, 1});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].key, QuantilePools::Key(0, 9));
  EXPECT_THAT(answers[0].values, ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(answers[1].count, 5u);
  EXPECT_THAT(answers[1].values, ElementsAre(1, 1.4, 3, 5));
  EXPECT_TRUE(pools.exact());
}

TEST(QuantilePools, NothingGivesNothing) {
  QuantilePools pools;
  EXPECT_THAT(pools.Quantiles({0.5}), IsEmpty());
}

TEST(QuantilePools, InfinitiesStayWhatTheyAre) {
  QuantilePools pools;
  ASSERT_TRUE(pools.Add({0, 0}, {-kInfinity, 1, kInfinity}).ok());
  EXPECT_THAT(pools.Quantiles({0, 0.5, 1})[0].values, ElementsAre(-kInfinity, 1, kInfinity));
}

// Against the sorted numbers themselves, of every size and sign.
TEST(QuantilePools, ManyNumbersAreWithinTheErrorStated) {
  std::mt19937_64 rng(3);
  for (const double spread : {0.01, 1.0, 30.0}) {
    std::lognormal_distribution<double> size(0, spread);
    QuantilePools pools({.pools = 10, .exact_values = 1000, .cells = 100'000});
    std::vector<double> all;
    for (int i = 0; i < 200; ++i) {
      std::vector<double> some;
      for (int k = 0; k < 50; ++k)
        some.push_back(rng() % 3 == 0 ? -size(rng) : rng() % 50 == 0 ? 0 : size(rng));
      all.insert(all.end(), some.begin(), some.end());
      ASSERT_TRUE(pools.Add({0, 0}, some).ok());
    }
    EXPECT_FALSE(pools.exact());
    std::sort(all.begin(), all.end());
    std::vector<double> quantiles;  // of whole ranks, which need no interpolation
    for (size_t rank = 0; rank < all.size(); rank += 101) {
      quantiles.push_back(static_cast<double>(rank) / static_cast<double>(all.size() - 1));
    }
    const auto answers = pools.Quantiles(quantiles);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].count, all.size());
    for (size_t i = 0; i < quantiles.size(); ++i) {
      // Rounding of q·(n-1) may reach the neighbour below.
      const double right = all[i * 101];
      const double below = all[i == 0 ? 0 : i * 101 - 1];
      const double error =
          std::min(std::abs(answers[0].values[i] - right), std::abs(answers[0].values[i] - below));
      EXPECT_LE(error, 1.0001 * QuantilePools::kRelativeError * std::max(std::abs(right), std::abs(below)))
          << spread << " rank " << i * 101;
    }
  }
}

TEST(QuantilePools, MemoryIsBounded) {
  QuantilePools few({.pools = 2});
  ASSERT_TRUE(few.Add({0, 0}, {1}).ok());
  ASSERT_TRUE(few.Add({0, 1}, {1}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(few.Add({0, 2}, {1})));
  QuantilePools cells({.pools = 10, .exact_values = 3, .cells = 4});
  ASSERT_TRUE(cells.Add({0, 0}, {1, 2, 3}).ok());
  ASSERT_TRUE(cells.Add({0, 1}, {4}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(cells.Add({0, 2}, {5})));
}

}  // namespace
}  // namespace fleetmark::collector
