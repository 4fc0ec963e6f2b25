#include "collector/detect/evaluation.h"

#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include "collector/detect/change_detector.h"
#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kMinute = 60'000'000'000;

// A series that grows, evaluated as it does.
class EvaluationTest : public testing::Test {
 protected:
  EvaluationTest() {
    series_.set_series_id(7);
    series_.mutable_key()->set_node("n1");
    series_.mutable_key()->set_unit("GB/s");
    series_.set_better(v1::BETTER_HIGHER);
  }

  void Add(size_t count, double level, double noise) {
    std::normal_distribution<double> normal(level, noise);
    for (size_t i = 0; i < count; ++i) AddValue(noise > 0 ? normal(rng_) : level);
  }
  void AddValue(double value) {
    const int64_t time = points_.empty() ? kMinute : points_.back().time_unix_ns + kMinute;
    points_.push_back({time, value});
  }

  // Judges everything not judged yet; keeps the newest form of each finding.
  size_t Judge() { return JudgeFrom(judged_); }
  size_t JudgeFrom(size_t first_fresh) {
    const Detector* const detectors[] = {&detector_};
    EvaluationInput input;
    input.series = &series_;
    input.history = absl::MakeConstSpan(points_).first(first_fresh);
    input.fresh = absl::MakeConstSpan(points_).subspan(first_fresh);
    input.detectors = detectors;
    input.reference = reference_;
    input.now_unix_ns = points_.back().time_unix_ns + 5;
    EvaluationResult result = Evaluate(input, state_);
    for (const v1::Finding& finding : result.changed) findings_[finding.finding_id()] = finding;
    judged_ = points_.size();
    return result.judged;
  }

  std::vector<v1::Finding> With(v1::Finding::State state) const {
    std::vector<v1::Finding> out;
    for (const auto& [id, finding] : findings_) {
      if (finding.state() == state) out.push_back(finding);
    }
    return out;
  }
  std::vector<v1::Finding> Open() const { return With(v1::Finding::STATE_OPEN); }
  std::vector<v1::Finding> Closed() const { return With(v1::Finding::STATE_CLOSED); }

  void SetReference(double value, double lower) {
    reference_.emplace();
    reference_->set_value(value);
    reference_->set_lower(lower);
  }

  v1::Series series_;
  std::vector<Point> points_;
  std::optional<v1::Reference> reference_;
  ChangeDetector detector_;
  SeriesState state_;
  std::map<std::string, v1::Finding> findings_;

 private:
  std::mt19937_64 rng_{17};
  size_t judged_ = 0;
};

TEST_F(EvaluationTest, AChangeIsReportedOnce) {
  Add(40, 100, 1);
  Judge();
  EXPECT_TRUE(findings_.empty());
  Add(60, 80, 1);
  Judge();
  ASSERT_EQ(findings_.size(), 1u);
  const v1::Finding& finding = findings_.begin()->second;
  EXPECT_TRUE(IsUlid(finding.finding_id()));
  EXPECT_EQ(finding.series_id(), 7u);
  EXPECT_EQ(finding.series().node(), "n1");
  EXPECT_EQ(finding.kind(), v1::Finding::KIND_CHANGE);
  EXPECT_EQ(finding.direction(), v1::Finding::DIRECTION_WORSE);
  EXPECT_EQ(finding.state(), v1::Finding::STATE_OPEN);
  EXPECT_EQ(finding.detector(), "change");
  EXPECT_NEAR(finding.change(), -0.2, 0.03);
  EXPECT_LE(finding.onset_earliest_unix_ns(), 40 * kMinute);
  EXPECT_GE(finding.onset_latest_unix_ns(), 41 * kMinute);
  EXPECT_GT(finding.confidence(), 0.99);
  EXPECT_NEAR(finding.samples_before(), 40, 2);
  EXPECT_GE(finding.samples_after(), 3u);
}

TEST_F(EvaluationTest, ARecoveryClosesTheFindingAndOpensNone) {
  Add(40, 100, 1);
  Add(30, 80, 1);
  Add(30, 100, 1);
  Judge();
  ASSERT_EQ(findings_.size(), 1u);
  ASSERT_EQ(Closed().size(), 1u);
  EXPECT_NE(Closed()[0].explanation().find("returned"), std::string::npos);
  EXPECT_GT(Closed()[0].closed_unix_ns(), 0);
  Add(40, 80, 1);  // and down again is a new one
  Judge();
  EXPECT_EQ(Open().size(), 1u);
  EXPECT_EQ(findings_.size(), 2u);
}

TEST_F(EvaluationTest, AShortExcursionClosesToo) {
  for (size_t length : {4u, 5u, 7u, 10u}) {
    points_.clear();
    findings_.clear();
    state_.Clear();
    Add(40, 100, 1);
    Add(length, 70, 1);
    Add(30, 100, 1);
    JudgeFrom(0);
    EXPECT_EQ(Open().size(), 0u) << length;
    EXPECT_EQ(Closed().size(), 1u) << length;
  }
}

TEST_F(EvaluationTest, AFullRecoveryClosesAllThatCameBefore) {
  Add(40, 100, 1);
  Add(30, 80, 1);
  Add(30, 60, 1);
  Judge();
  EXPECT_EQ(Open().size(), 2u);
  Add(30, 100, 1);
  Judge();
  EXPECT_EQ(Open().size(), 0u);
  EXPECT_EQ(Closed().size(), 2u);
}

TEST_F(EvaluationTest, APartialRecoveryLeavesTheFirstOpen) {
  Add(40, 100, 1);
  Add(30, 60, 1);
  Add(30, 80, 1);
  Judge();
  ASSERT_EQ(Open().size(), 2u);
  EXPECT_EQ(Open()[0].direction(), v1::Finding::DIRECTION_WORSE);
  EXPECT_EQ(Open()[1].direction(), v1::Finding::DIRECTION_BETTER);
}

TEST_F(EvaluationTest, BetterThanEverIsNewsAndClosesTheWorsening) {
  Add(40, 100, 1);
  Add(30, 80, 1);
  Add(30, 130, 1);
  Judge();
  ASSERT_EQ(Closed().size(), 1u);
  ASSERT_EQ(Open().size(), 1u);
  EXPECT_EQ(Open()[0].direction(), v1::Finding::DIRECTION_BETTER);
}

TEST_F(EvaluationTest, OpenChangesAreBounded) {
  double level = 1000;
  Add(40, level, level / 100);
  for (int i = 0; i < kMaxOpenChanges + 2; ++i) {
    level *= 0.7;
    Add(20, level, level / 100);
  }
  Judge();
  EXPECT_EQ(Open().size(), static_cast<size_t>(kMaxOpenChanges));
  ASSERT_EQ(Closed().size(), 2u);
  EXPECT_NE(Closed()[0].explanation().find("superseded"), std::string::npos);
  EXPECT_EQ(state_.open_size(), kMaxOpenChanges);
}

TEST_F(EvaluationTest, OneByOneAndAllAtOnceSayTheSame) {
  const auto build = [this] {
    Add(40, 100, 1);
    Add(30, 80, 1);
    Add(30, 100, 1);
    Add(20, 120, 1);
  };
  build();
  Judge();
  const std::vector<Point> all = points_;
  std::vector<std::string> at_once;
  for (const auto& [id, finding] : findings_) at_once.push_back(id + finding.explanation());
  SeriesState state_at_once = state_;

  findings_.clear();
  state_.Clear();
  points_.clear();
  for (const Point& p : all) {
    points_.push_back(p);
    JudgeFrom(points_.size() - 1);
  }
  std::vector<std::string> one_by_one;
  for (const auto& [id, finding] : findings_) one_by_one.push_back(id + finding.explanation());
  EXPECT_EQ(at_once, one_by_one);
  EXPECT_EQ(state_.regime_start_unix_ns(), state_at_once.regime_start_unix_ns());
  EXPECT_EQ(state_.pooled_scale(), state_at_once.pooled_scale());
}

TEST_F(EvaluationTest, JudgingAgainChangesNothing) {
  Add(40, 100, 1);
  Add(30, 80, 1);
  Judge();
  const std::string state = SerializeState(state_);
  findings_.clear();
  EXPECT_EQ(JudgeFrom(0), 0u);
  EXPECT_TRUE(findings_.empty());
  EXPECT_EQ(SerializeState(state_), state);
}

TEST_F(EvaluationTest, LateSamplesAreHistoryOnly) {
  SetReference(100, -0.3);
  Add(40, 100, 1);
  Judge();
  // Ten wild values that were measured before the newest judged one.
  for (int i = 0; i < 10; ++i) points_.insert(points_.begin() + 30, Point{30 * kMinute + 10 - i, 20});
  EXPECT_EQ(JudgeFrom(40), 0u);
  EXPECT_TRUE(findings_.empty());
}

TEST_F(EvaluationTest, AReferenceOpensAtOnceAndClosesWhenBack) {
  SetReference(100, -0.1);
  AddValue(95);
  AddValue(89);
  Judge();
  ASSERT_EQ(Open().size(), 1u);
  const v1::Finding finding = Open()[0];
  EXPECT_EQ(finding.kind(), v1::Finding::KIND_REFERENCE);
  EXPECT_EQ(finding.direction(), v1::Finding::DIRECTION_WORSE);
  EXPECT_EQ(finding.before(), 100);
  EXPECT_EQ(finding.after(), 89);
  EXPECT_NEAR(finding.change(), -0.11, 1e-12);
  EXPECT_EQ(finding.onset_earliest_unix_ns(), kMinute);
  EXPECT_EQ(finding.onset_latest_unix_ns(), 2 * kMinute);
  EXPECT_EQ(finding.reference().lower(), -0.1);
  EXPECT_EQ(finding.confidence(), 1);
  AddValue(80);
  Judge();
  EXPECT_EQ(findings_.size(), 1u);
  AddValue(90);  // on the bound
  Judge();
  EXPECT_EQ(Open().size(), 0u);
  AddValue(1);
  Judge();
  EXPECT_EQ(findings_.size(), 2u);
}

TEST_F(EvaluationTest, AReferenceThatIsGoneClosesItsFinding) {
  SetReference(100, -0.1);
  AddValue(50);
  Judge();
  ASSERT_EQ(Open().size(), 1u);
  SetReference(50, -0.1);
  AddValue(50);
  Judge();
  EXPECT_EQ(Open().size(), 0u);
  EXPECT_EQ(Closed().size(), 1u);
}

TEST_F(EvaluationTest, ReferenceDirections) {
  const struct {
    v1::Better better;
    double value;
    v1::Finding::Direction direction;
  } cases[] = {
      {v1::BETTER_HIGHER, 50, v1::Finding::DIRECTION_WORSE},
      {v1::BETTER_HIGHER, 150, v1::Finding::DIRECTION_BETTER},
      {v1::BETTER_LOWER, 150, v1::Finding::DIRECTION_WORSE},
      {v1::BETTER_LOWER, 50, v1::Finding::DIRECTION_BETTER},
      {v1::BETTER_NONE, 50, v1::Finding::DIRECTION_WORSE},
  };
  for (const auto& c : cases) {
    SetReference(100, -0.1);
    reference_->set_upper(0.1);
    series_.set_better(c.better);
    points_.clear();
    findings_.clear();
    state_.Clear();
    AddValue(c.value);
    JudgeFrom(0);
    ASSERT_EQ(Open().size(), 1u);
    EXPECT_EQ(Open()[0].direction(), c.direction) << c.better << " " << c.value;
  }
}

TEST_F(EvaluationTest, NaNBreaksAReferenceAndEntersNoLevel) {
  SetReference(100, -0.5);
  Add(40, 100, 1);
  AddValue(std::numeric_limits<double>::quiet_NaN());
  Judge();
  ASSERT_EQ(Open().size(), 1u);
  EXPECT_EQ(Open()[0].direction(), v1::Finding::DIRECTION_WORSE);
  Add(5, 100, 1);
  Judge();
  EXPECT_EQ(Open().size(), 0u);
}

TEST_F(EvaluationTest, MetricsWithoutABetterDirectionByChoiceAreNotJudged) {
  series_.set_better(v1::BETTER_NONE);
  Add(40, 100, 1);
  Add(40, 50, 1);
  Judge();
  EXPECT_TRUE(findings_.empty());
}

SeriesState ExampleState() {
  SeriesState state;
  state.set_version(1);
  state.set_evaluated_until_unix_ns(1'790'000'000'000'000'000);
  state.set_regime_start_unix_ns(1'780'000'000'000'000'000);
  state.set_pooled_scale(0.0125);
  state.set_pooled_logarithmic(true);
  v1::Finding* finding = state.add_open();
  finding->set_finding_id("01ARZ3NDEKTSV4RRFFQ69G5FAV");
  finding->set_kind(v1::Finding::KIND_CHANGE);
  finding->set_before(100);
  finding->set_after(80);
  return state;
}

// What version 1 looks like on disk. It must stay readable.
constexpr char kGoldenState[] =
    "0801108080cc9fc2f0d6eb18188080c8a19b92f5d918219a9999999999893f280132300a1a303141525a334e44"
    "454b545356345252464651363947354641562002510000000000005940590000000000005440";

TEST(SeriesStateEncoding, GoldenBytes) {
  EXPECT_EQ(absl::BytesToHexString(SerializeState(ExampleState())), kGoldenState);
  const auto parsed = ParseState(absl::HexStringToBytes(kGoldenState));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->SerializeAsString(), ExampleState().SerializeAsString());
}

TEST(SeriesStateEncoding, EmptyIsNewAndBadBytesAreErrors) {
  ASSERT_TRUE(ParseState("").ok());
  EXPECT_EQ(ParseState("")->evaluated_until_unix_ns(), 0);
  EXPECT_TRUE(absl::IsDataLoss(ParseState("\xff\xff\xff").status()));
  SeriesState newer = ExampleState();
  newer.set_version(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(ParseState(SerializeState(newer)).status()));
}

}  // namespace
}  // namespace fleetmark::collector
