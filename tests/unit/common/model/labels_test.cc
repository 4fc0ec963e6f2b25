#include "common/model/labels.h"

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(Labels, Identifiers) {
  for (const char* good : {"a", "triad", "size_mib2"})
    EXPECT_TRUE(CheckIdentifier("metric", good).ok()) << good;
  for (const char* bad : {"", "A", "2a", "_a", "a-b", "a b", "ä"}) {
    EXPECT_FALSE(CheckIdentifier("metric", bad).ok()) << bad;
  }
  EXPECT_TRUE(CheckIdentifier("metric", std::string(64, 'a')).ok());
  EXPECT_FALSE(CheckIdentifier("metric", std::string(65, 'a')).ok());
  EXPECT_EQ(CheckIdentifier("metric", "Triad").message(),
            "metric 'Triad' must be 1 to 64 characters of a-z, 0-9 and _, beginning with a letter");
}

TEST(Labels, NodeNames) {
  for (const char* good : {"n1", "gpu-17.alps.example", "NODE_3", "10.0.0.1"}) {
    EXPECT_TRUE(CheckNodeName(good).ok()) << good;
  }
  for (const char* bad : {"", ".", "a..b", "a.", "-a", "a/b", "a b", "a\n"}) {
    EXPECT_FALSE(CheckNodeName(bad).ok()) << bad;
  }
  EXPECT_FALSE(CheckNodeName(std::string(254, 'a')).ok());
}

TEST(Labels, TextIsBoundedUtf8WithoutControls) {
  EXPECT_TRUE(CheckText("reason", "a\tb\nc \xC3\xA4", 100).ok());
  EXPECT_FALSE(CheckText("reason", "12345", 4).ok());
  EXPECT_FALSE(CheckText("reason", std::string_view("a\0b", 3), 100).ok());
  EXPECT_FALSE(CheckText("reason", "\x1b[31m", 100).ok());
  EXPECT_FALSE(CheckText("reason", "\xff", 100).ok());
}

TEST(Labels, Utf8FollowsTheStandard) {
  EXPECT_TRUE(IsValidUtf8("\xF0\x9F\x98\x80"));
  EXPECT_FALSE(IsValidUtf8("\xC0\x80"));          // overlong
  EXPECT_FALSE(IsValidUtf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(IsValidUtf8("\xF4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(IsValidUtf8("\xE2\x82"));          // cut short
}

TEST(Labels, RepairGivesValidTextAndSaysSo) {
  bool repaired = false;
  EXPECT_EQ(RepairUtf8("plain\n", &repaired), "plain\n");
  EXPECT_FALSE(repaired);
  EXPECT_EQ(RepairUtf8("a\xff\x01z", &repaired), "a\xEF\xBF\xBDz");
  EXPECT_TRUE(repaired);
}

TEST(Labels, NearestName) {
  const std::vector<std::string> names = {"schedule", "time_zone", "timeout"};
  EXPECT_EQ(NearestName("shedule", names), "schedule");
  EXPECT_EQ(NearestName("time_out", names), "timeout");
  EXPECT_EQ(NearestName("zzzzzz", names), "");
}

TEST(Labels, NodeLabelsAreBounded) {
  EXPECT_TRUE(CheckNodeLabels({{"rack", "r12"}, {"topology.kubernetes.io/zone", "a"}}).ok());
  EXPECT_FALSE(CheckNodeLabels({{"", "x"}}).ok());
  EXPECT_FALSE(CheckNodeLabels({{"a b", "x"}}).ok());
  Labels many;
  for (int i = 0; i < 33; ++i) many["l" + std::to_string(i)] = "v";
  EXPECT_FALSE(CheckNodeLabels(many).ok());
}

TEST(MatchesGlob, StarIsAnyRunAndQuestionMarkAnyOne) {
  EXPECT_TRUE(MatchesGlob("gpu*", "gpu01"));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("a*b*c", "axxbbyc"));
  EXPECT_TRUE(MatchesGlob("a*b", "ab.b"));
  EXPECT_TRUE(MatchesGlob("gpu01", "gpu01"));
  EXPECT_FALSE(MatchesGlob("gpu01", "gpu011"));
  EXPECT_FALSE(MatchesGlob("a*b", "abc"));
  EXPECT_FALSE(MatchesGlob("", "x"));
  EXPECT_TRUE(MatchesGlob("gpu?1", "gpu01"));
  EXPECT_FALSE(MatchesGlob("gpu?", "gpu"));
}

}  // namespace
}  // namespace fleetmark
