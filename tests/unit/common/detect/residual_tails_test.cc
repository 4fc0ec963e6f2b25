#include "common/detect/residual_tails.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::detect {
namespace {

// Of exponential noise, whose means have a known distribution: the sum of n is below x with the probability
// of at least n events of a Poisson process.
std::vector<double> Exponential(size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(-std::log(1 - (static_cast<double>(i) + 0.5) / static_cast<double>(count)) - 1);
  }
  return values;
}

TEST(ResidualTails, NormalNoiseKeepsItsScores) {
  std::mt19937_64 rng(3);
  std::normal_distribution<double> normal;
  std::vector<double> residuals(1000);
  for (double& r : residuals) r = normal(rng);
  const ResidualTails tails(residuals);
  EXPECT_GT(tails.ScoreFactor(3, 3, 500), 0.9);
  EXPECT_GT(tails.ScoreFactor(-3, 3, 500), 0.9);
  EXPECT_GT(tails.ScoreFactor(1, 100, 100), 0.95);
}

TEST(ResidualTails, ALongTailTakesScoresTowardsItAndOnlyThose) {
  const ResidualTails tails(Exponential(2000));
  const double towards = tails.ScoreFactor(2.5, 3, 1000), away = tails.ScoreFactor(-0.8, 3, 1000);
  EXPECT_LT(towards, 0.85);
  EXPECT_GE(away, 0.99);
  // The mean of three is at least 3.5 with probability exp(-10.5) (1 + 10.5 + 10.5^2 / 2) = 0.0018, the
  // normal score 2.9; normal means would have 2.5 sqrt 3 = 4.3. Bounding wild values makes it less still.
  EXPECT_NEAR(towards * 2.5 * std::sqrt(3.0), 2.9, 0.35);
  EXPECT_GT(tails.ScoreFactor(0.3, 500, 500), towards);  // means of many are normal
}

TEST(ResidualTails, WildValuesThatAreUsualMakeASpellOfThemNoNews) {
  std::mt19937_64 rng(4);
  std::normal_distribution<double> normal;
  std::vector<double> residuals(400);
  for (size_t i = 0; i < residuals.size(); ++i) residuals[i] = normal(rng) + (i % 20 == 0 ? -10 : 0);
  const ResidualTails tails(residuals);
  const double spell = tails.Bounded(-10);
  EXPECT_GT(spell, -6);
  double squares = 0;
  for (double r : residuals) squares += tails.Bounded(r) * tails.Bounded(r);
  const double untold = std::fabs(spell) * std::sqrt(3 / (squares / 400));
  // Three wild values in a row: 1 in 8,000, the normal score 3.7; that of normal means would be above 5.
  EXPECT_GT(untold, 5);
  EXPECT_LT(tails.ScoreFactor(spell, 3, 400) * untold, 4.6);
  EXPECT_GT(tails.ScoreFactor(-spell, 3, 400), 0.9);  // to the other side it is
}

TEST(ResidualTails, NothingIsSaidWithoutNoise) {
  EXPECT_EQ(ResidualTails({}).ScoreFactor(5, 3, 10), 1);
  EXPECT_EQ(ResidualTails(std::vector<double>(10, 0.0)).ScoreFactor(5, 3, 10), 1);
}

}  // namespace
}  // namespace fleetmark::detect
