#include "plugins/parse/regex.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::parse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kStreamOutput[] =
    "Function    Best Rate MB/s  Avg time\n"
    "Copy:           12000.5     0.013\n"
    "Triad:          11000.0     0.022\n"
    "Triad:          13000.0     0.020\n"
    "Triad:          12500.0     0.021\n"
    "Solution Validates: avg error less than 1e-13\n";

MetricPattern Triad(Reduce reduce) {
  return {
      .name = "triad", .unit = "MB/s", .better = "higher", .pattern = R"(^Triad:\s+(\S+))", .reduce = reduce};
}

ReadResult Read(const RegexSpec& spec, std::string_view text) {
  std::string error;
  const auto reader = RegexReader::Create(spec, &error);
  EXPECT_TRUE(reader.has_value()) << error;
  return reader->Read(text);
}

std::string CreateError(const RegexSpec& spec) {
  std::string error;
  EXPECT_FALSE(RegexReader::Create(spec, &error).has_value());
  return error;
}

TEST(RegexReader, ReducesTheMatches) {
  const std::pair<Reduce, double> cases[] = {{Reduce::kFirst, 11000},
                                             {Reduce::kLast, 12500},
                                             {Reduce::kMin, 11000},
                                             {Reduce::kMax, 13000},
                                             {Reduce::kMedian, 12500}};
  for (const auto& [reduce, expected] : cases) {
    const ReadResult result = Read({.metrics = {Triad(reduce)}}, kStreamOutput);
    ASSERT_EQ(result.readings.size(), 1U);
    EXPECT_THAT(result.problems, IsEmpty());
    EXPECT_THAT(result.readings[0].values, ElementsAre(expected));
    EXPECT_FALSE(result.readings[0].repetitions);
  }
  EXPECT_NEAR(Read({.metrics = {Triad(Reduce::kMean)}}, kStreamOutput).readings.at(0).values.at(0), 12166.67,
              0.01);
}

TEST(RegexReader, KeepsAllMatchesInOrder) {
  const ReadResult result = Read({.metrics = {Triad(Reduce::kAll)}}, kStreamOutput);
  ASSERT_EQ(result.readings.size(), 1U);
  EXPECT_THAT(result.readings[0].values, ElementsAre(11000, 13000, 12500));
  EXPECT_TRUE(result.readings[0].repetitions);
}

TEST(RegexReader, MedianOfAnEvenNumberIsBetween) {
  EXPECT_EQ(ReduceValues({4, 1, 3, 2}, Reduce::kMedian), 2.5);
}

TEST(RegexReader, ScalesToTheUnit) {
  MetricPattern triad = Triad(Reduce::kLast);
  triad.unit = "GB/s";
  triad.scale = 0.001;
  EXPECT_DOUBLE_EQ(Read({.metrics = {triad}}, kStreamOutput).readings.at(0).values.at(0), 12.5);
}

TEST(RegexReader, NamedGroupsAreLabels) {
  MetricPattern rate{.name = "rate",
                     .unit = "MB/s",
                     .better = "higher",
                     .pattern = R"(^(?P<kernel>Copy|Triad):\s+(?P<value>\S+))"};
  rate.labels = {{"tool", "stream"}};
  const ReadResult result = Read({.metrics = {rate}}, kStreamOutput);
  ASSERT_EQ(result.readings.size(), 2U);
  EXPECT_EQ(result.readings[0].labels,
            (std::map<std::string, std::string>{{"kernel", "Copy"}, {"tool", "stream"}}));
  EXPECT_THAT(result.readings[0].values, ElementsAre(12000.5));
  EXPECT_EQ(result.readings[1].labels.at("kernel"), "Triad");
  EXPECT_THAT(result.readings[1].values, ElementsAre(12500));
}

TEST(RegexReader, SanityPatternsDecide) {
  const RegexSpec good{.metrics = {Triad(Reduce::kLast)},
                       .must_match = {"^Solution Validates"},
                       .must_not_match = {"(?i)fail"}};
  EXPECT_THAT(Read(good, kStreamOutput).problems, IsEmpty());
  EXPECT_THAT(
      Read(good, "Triad: 5\nSolution is wrong: FAILED\n").problems,
      ElementsAre(HasSubstr("nearest line is: Solution is wrong"), HasSubstr("'(?i)fail' matches: FAIL")));
}

TEST(RegexReader, NamesPositionAndReasonOfABadPattern) {
  MetricPattern bad = Triad(Reduce::kLast);
  bad.pattern = R"(^Triad: (\d+)[z-a])";
  EXPECT_THAT(
      CreateError({.metrics = {bad}}),
      AllOf(HasSubstr("metric 'triad'"), HasSubstr("character class range"), HasSubstr("at character 15")));
  EXPECT_THAT(CreateError({.must_match = {"a("}}), AllOf(HasSubstr("sanity"), HasSubstr("missing")));
}

TEST(RegexReader, APatternMustSayWhichGroupIsTheValue) {
  for (const char* pattern : {"no group", "(a) (b)", "(?P<x>a)"}) {
    MetricPattern bad = Triad(Reduce::kLast);
    bad.pattern = pattern;
    EXPECT_THAT(CreateError({.metrics = {bad}}), HasSubstr("does not say which part is the value"))
        << pattern;
  }
}

TEST(RegexReader, NumbersAreNotGuessed) {
  for (const char* text :
       {"rate 1,234.5", "rate nan", "rate inf", "rate 0x10", "rate 12MB", "rate -", "rate 1e999"}) {
    const ReadResult result = Read({.metrics = {{"rate", "1/s", "higher", R"(rate (\S+))"}}}, text);
    EXPECT_THAT(result.readings, IsEmpty()) << text;
    EXPECT_THAT(result.problems, ElementsAre(HasSubstr("not a plain finite number"))) << text;
  }
  for (const char* text : {"rate 1.5e3", "rate +1500", "rate 1500."}) {
    EXPECT_THAT(Read({.metrics = {{"rate", "1/s", "higher", R"(rate (\S+))"}}}, text).readings.at(0).values,
                ElementsAre(1500))
        << text;
  }
}

TEST(RegexReader, AMetricWithoutAMatchShowsTheNearestLineOrTheLastOnes) {
  MetricPattern pattern = Triad(Reduce::kLast);
  pattern.pattern = R"(^Triad rate (\d+)$)";
  EXPECT_THAT(Read({.metrics = {pattern}}, "one\nTriad 5\nrate\n").problems,
              ElementsAre(AllOf(HasSubstr("'^Triad rate"), HasSubstr("nearest line is: Triad 5"))));
  EXPECT_THAT(Read({.metrics = {pattern}}, "one\ntwo\nthree\nfour\n").problems,
              ElementsAre(AllOf(HasSubstr("ends with: two\nthree\nfour"), Not(HasSubstr("one")))));
  EXPECT_THAT(Read({.metrics = {pattern}}, "").problems, ElementsAre(HasSubstr("the text is empty")));
}

TEST(RegexReader, ReadsAroundBytesThatAreNotUtf8) {
  const ReadResult result =
      Read({.metrics = {{"bw", "GB/s", "higher", R"(^(?P<name>.+) bw=(?P<value>\d+))"}}}, "caf\xE9 bw=3\n");
  ASSERT_EQ(result.readings.size(), 1U);
  EXPECT_THAT(result.readings[0].values, ElementsAre(3));
  EXPECT_EQ(result.readings[0].labels.at("name"), "caf\xEF\xBF\xBD");
}

TEST(RegexReader, EmptyMatchesEndAndTooManyAreAProblem) {
  EXPECT_THAT(Read({.metrics = {{"x", "1", "none", "(a*)"}}}, "bbb").problems,
              ElementsAre(HasSubstr("captured ''")));
  std::string many;
  for (size_t i = 0; i <= kMaxMatches; ++i) many += "v 1\n";
  EXPECT_THAT(Read({.metrics = {{"x", "1", "none", "v (1)", Reduce::kAll}}}, many).problems,
              ElementsAre(HasSubstr("more than 10000 matches")));
}

}  // namespace
}  // namespace fleetmark::parse
