#include "collector/fleet/confirmation.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

std::vector<double> Noise(std::mt19937& random, size_t n, double level, double sd, double correlation = 0) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = normal(random);
  for (size_t i = 0; i < n; ++i) {
    state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(random);
    values.push_back(level + sd * state);
  }
  return values;
}

struct Outcome {
  double confirmed = 0;
  double refuted = 0;
  double reruns = 0;  // mean
};

Outcome Simulate(double moved_sd, double found_sd, double correlation = 0, double needed = 100) {
  std::mt19937 random(7);
  Outcome outcome;
  constexpr int kCases = 2000;
  for (int c = 0; c < kCases; ++c) {
    // One series: history, then re-runs that go on from it.
    std::vector<double> values = Noise(random, 80, 100, 1, correlation);
    const std::vector<double> history(values.begin(), values.begin() + 60);
    std::vector<double> reruns(values.begin() + 60, values.end());
    for (double& v : reruns) v -= moved_sd;
    ConfirmationInput input;
    input.history = history;
    input.reruns = reruns;
    input.after = 100 - found_sd;
    ConfirmationLimits limits;
    limits.needed_for = needed;
    const ConfirmationResult result = Confirm(input, limits);
    if (result.state == v1::Confirmation::STATE_CONFIRMED) outcome.confirmed += 1.0 / kCases;
    if (result.state == v1::Confirmation::STATE_REFUTED) outcome.refuted += 1.0 / kCases;
    outcome.reruns += static_cast<double>(result.reruns) / kCases;
  }
  return outcome;
}

TEST(Confirm, AFalseFindingIsRefutedInAFewRuns) {
  const Outcome outcome = Simulate(0, 4);
  EXPECT_LE(outcome.confirmed, 0.01);  // 1 / needed
  EXPECT_GE(outcome.refuted, 0.98);
  EXPECT_LE(outcome.reruns, 5);
}

TEST(Confirm, ARealChangeIsConfirmedInAFewRuns) {
  const Outcome outcome = Simulate(4, 4);
  EXPECT_GE(outcome.confirmed, 0.97);
  EXPECT_LE(outcome.reruns, 5);
}

TEST(Confirm, AChangeThatWasOverestimatedIsConfirmedToo) {
  const Outcome outcome = Simulate(3, 5);
  EXPECT_GE(outcome.confirmed, 0.85);
}

TEST(Confirm, CorrelatedNoiseDoesNotConfirm) {
  EXPECT_LE(Simulate(0, 4, 0.5).confirmed, 0.01);
  EXPECT_LE(Simulate(0, 3, 0.8).confirmed, 0.02);
}

TEST(Confirm, OneRunNeverDecidesAlone) {
  const std::vector<double> history = {100, 101, 99, 100.5, 99.5, 100.2, 99.8, 100, 100.1, 99.9};
  ConfirmationInput input;
  input.history = history;
  input.after = 50;
  const std::vector<double> one = {50};
  input.reruns = one;
  EXPECT_EQ(Confirm(input).state, v1::Confirmation::STATE_PENDING);
  const std::vector<double> two = {50, 50.3};
  input.reruns = two;
  const ConfirmationResult result = Confirm(input);
  EXPECT_EQ(result.state, v1::Confirmation::STATE_CONFIRMED);
  EXPECT_EQ(result.reruns, 2u);
  EXPECT_DOUBLE_EQ(result.evidence_for, 100);
}

TEST(Confirm, WhatTheHealthyPeerShowsTooIsTakenOff) {
  std::mt19937 random(3);
  const std::vector<double> history = Noise(random, 60, 100, 1), peer_history = Noise(random, 60, 200, 1);
  const std::vector<double> reruns = Noise(random, 10, 90, 1), peer_reruns = Noise(random, 10, 180, 1);
  ConfirmationInput input;
  input.history = history;
  input.reruns = reruns;
  input.after = 90;
  EXPECT_EQ(Confirm(input).state, v1::Confirmation::STATE_CONFIRMED);
  input.peer_history = peer_history;
  input.peer_reruns = peer_reruns;
  const ConfirmationResult result = Confirm(input);
  EXPECT_EQ(result.state, v1::Confirmation::STATE_REFUTED);
  EXPECT_GE(result.peer_reruns, 1u);
}

TEST(Confirm, EndsUndecidedAtItsLimit) {
  std::mt19937 random(4);
  const std::vector<double> history = Noise(random, 60, 100, 1);
  const std::vector<double> reruns(10, 99.5);
  ConfirmationInput input;
  input.history = history;
  input.reruns = reruns;
  input.after = 99.2;
  ConfirmationLimits limits;
  limits.max_reruns = 8;
  limits.needed_for = 1e6;
  EXPECT_EQ(Confirm(input, limits).state, v1::Confirmation::STATE_INCONCLUSIVE);
  EXPECT_EQ(Confirm(input, limits).reruns, 8u);
}

TEST(Confirm, AShortHistoryTellsNothing) {
  const std::vector<double> history = {100, 101, 99}, reruns = {50, 50, 50};
  ConfirmationInput input;
  input.history = history;
  input.reruns = reruns;
  input.after = 50;
  EXPECT_EQ(Confirm(input).state, v1::Confirmation::STATE_PENDING);
}

}  // namespace
}  // namespace fleetmark::collector
