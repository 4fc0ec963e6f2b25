#include "collector/fleet/exact_tests.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

// The expected values were computed with rational arithmetic from the definitions, or are in tables.

TEST(FisherUpperTail, TheLadyTastingTea) {
  EXPECT_NEAR(FisherUpperTail(4, 4, 4, 8), 1.0 / 70, 1e-12);
  EXPECT_NEAR(FisherUpperTail(3, 4, 4, 8), 17.0 / 70, 1e-12);
}

TEST(FisherUpperTail, AtItsEnds) {
  EXPECT_EQ(FisherUpperTail(0, 4, 4, 8), 1);
  EXPECT_EQ(FisherUpperTail(2, 4, 6, 8), 1);  // two of four must be marked
  EXPECT_EQ(FisherUpperTail(5, 4, 8, 8), 0);
}

TEST(FisherUpperTail, SmallProbabilitiesKeepTheirDigits) {
  // All 24 of 24 drawn, of 204 with 24 marked: 1 / C(204, 24).
  EXPECT_NEAR(std::log(FisherUpperTail(24, 24, 24, 204)),
              -(std::lgamma(205.0) - std::lgamma(25.0) - std::lgamma(181.0)), 1e-9);
}

TEST(BinomialUpperTail, AgreesWithTheSum) {
  double sum = 0;
  for (int k = 7; k <= 20; ++k) {
    sum += std::exp(std::lgamma(21.0) - std::lgamma(k + 1.0) - std::lgamma(21.0 - k) + k * std::log(0.2) +
                    (20 - k) * std::log(0.8));
  }
  EXPECT_NEAR(BinomialUpperTail(7, 20, 0.2), sum, 1e-12);
  EXPECT_EQ(BinomialUpperTail(0, 20, 0.2), 1);
  EXPECT_EQ(BinomialUpperTail(21, 20, 0.2), 0);
}

TEST(StudentUpperTail, KnownQuantiles) {
  EXPECT_NEAR(StudentUpperTail(1, 1), 0.25, 1e-12);  // Cauchy
  EXPECT_NEAR(StudentUpperTail(2.2281388520, 10), 0.025, 1e-9);
  EXPECT_NEAR(StudentUpperTail(-2.2281388520, 10), 0.975, 1e-9);
  EXPECT_NEAR(StudentUpperTail(5, 1e7), 0.5 * std::erfc(5 / std::sqrt(2.0)), 1e-10);
}

TEST(MannWhitneyUpperTail, SmallSamplesAreExact) {
  EXPECT_NEAR(MannWhitneyUpperTail(std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6}), 1.0 / 20,
              1e-12);
  EXPECT_NEAR(MannWhitneyUpperTail(std::vector<double>{1, 2, 4}, std::vector<double>{3, 5, 6}), 2.0 / 20,
              1e-12);
  EXPECT_NEAR(MannWhitneyUpperTail(std::vector<double>{4, 5, 6}, std::vector<double>{1, 2, 3}), 1, 1e-12);
}

TEST(MannWhitneyUpperTail, EqualValuesSayNothing) {
  const std::vector<double> same(20, 7);
  EXPECT_EQ(MannWhitneyUpperTail(same, same), 1);
  EXPECT_EQ(MannWhitneyUpperTail({}, same), 1);
}

TEST(MannWhitneyUpperTail, TheApproximationAgreesWithTheExactCount) {
  std::vector<double> a, b;
  for (int i = 0; i < 50; ++i) a.push_back(i * 17 % 101);
  for (int i = 0; i < 49; ++i) b.push_back(i * 29 % 101 + 9.5);
  const double exact = MannWhitneyUpperTail(a, b);
  a.push_back(a.back());  // a tie, which asks for the approximation
  EXPECT_NEAR(MannWhitneyUpperTail(a, b) / exact, 1, 0.25);
}

}  // namespace
}  // namespace fleetmark::collector
