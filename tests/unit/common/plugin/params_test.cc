#include "common/plugin/params.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/digest.h"
#include "common/plugin/json_text.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;

PluginManifest Manifest() {
  PluginManifest manifest;
  manifest.name = "p";
  manifest.params = {{"flag", ParamType::kBool, "false", {}, {}, {}, ""},
                     {"count", ParamType::kInt, "3", 1.0, 10.0, {}, ""},
                     {"ratio", ParamType::kFloat, "0.5", 0.0, 1.0, {}, ""},
                     {"mode", ParamType::kString, "\"a\"", {}, {}, {"a", "b"}, ""},
                     {"pause", ParamType::kDuration, "90", {}, 3600.0, {}, ""},
                     {"size", ParamType::kBytes, "1024", {}, {}, {}, ""},
                     {"words", ParamType::kList, "[]", {}, {}, {}, ""},
                     {"tree", ParamType::kMap, "{}", {}, {}, {}, ""}};
  return manifest;
}

std::string Error(const std::string& json) {
  const auto params = ResolveParams(Manifest(), json);
  EXPECT_FALSE(params.ok()) << json;
  return std::string(params.status().message());
}

TEST(ParamsTest, FillsDefaults) {
  for (const char* none : {"", "{}"}) {
    const auto params = ResolveParams(Manifest(), none);
    ASSERT_TRUE(params.ok()) << params.status();
    EXPECT_EQ(
        params->json,
        R"({"count":3,"flag":false,"mode":"a","pause":90,"ratio":0.5,"size":1024,"tree":{},"words":[]})");
    EXPECT_EQ(params->digest, Sha256Hex("p\n" + params->json).substr(0, 16));
  }
}

TEST(ParamsTest, ConvertsDurationsAndSizes) {
  const auto params = ResolveParams(Manifest(), R"({"pause":"1m30.5s","size":"2GiB","count":1e1})");
  ASSERT_TRUE(params.ok()) << params.status();
  EXPECT_THAT(params->json, HasSubstr(R"("count":10,)"));
  EXPECT_THAT(params->json, HasSubstr(R"("pause":90.5,)"));
  EXPECT_THAT(params->json, HasSubstr(R"("size":2147483648,)"));
}

TEST(ParamsTest, OneMeaningHasOneDigest) {
  const auto a = ResolveParams(Manifest(), R"({"size":"1KiB","ratio":5e-1,"tree":{"b":1,"a":2}})");
  const auto b = ResolveParams(Manifest(), R"( { "tree" : {"a":2.0,"b":1}, "size":1024 } )");
  const auto c = ResolveParams(Manifest(), R"({"size":1025})");
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(a->digest, b->digest);
  EXPECT_NE(a->digest, c->digest);
}

TEST(ParamsTest, EnvironmentHoldsScalars) {
  const auto params = ResolveParams(Manifest(), R"({"flag":true,"mode":"b","size":"16GiB"})");
  ASSERT_TRUE(params.ok());
  EXPECT_EQ(params->environment.at("FLEETMARK_PARAM_FLAG"), "true");
  EXPECT_EQ(params->environment.at("FLEETMARK_PARAM_MODE"), "b");
  EXPECT_EQ(params->environment.at("FLEETMARK_PARAM_SIZE"), "17179869184");
  EXPECT_EQ(params->environment.at("FLEETMARK_PARAM_PAUSE"), "90");
  EXPECT_EQ(params->environment.count("FLEETMARK_PARAM_TREE"), 0u);
}

TEST(ParamsTest, SaysWhatIsWrong) {
  EXPECT_THAT(Error(R"({"cuont":1})"), HasSubstr("did you mean 'count'?"));
  EXPECT_THAT(Error(R"({"count":1.5})"), HasSubstr("count: must be a whole number, not 1.5"));
  EXPECT_THAT(Error(R"({"count":"3"})"), HasSubstr("whole number, not \"3\""));
  EXPECT_THAT(Error(R"({"count":0})"), HasSubstr("at least 1"));
  EXPECT_THAT(Error(R"({"count":11})"), HasSubstr("at most 10"));
  EXPECT_THAT(Error(R"({"ratio":1.01})"), HasSubstr("at most 1"));
  EXPECT_THAT(Error(R"({"flag":1})"), HasSubstr("true or false"));
  EXPECT_THAT(Error(R"({"mode":"c"})"), HasSubstr("one of a, b"));
  EXPECT_THAT(Error(R"({"pause":"2h"})"), HasSubstr("at most 1h"));
  EXPECT_THAT(Error(R"({"pause":-1})"), HasSubstr("duration"));
  EXPECT_THAT(Error(R"({"size":"big"})"), HasSubstr("size"));
  EXPECT_THAT(Error(R"({"words":{}})"), HasSubstr("must be a list"));
  EXPECT_THAT(Error(R"({"tree":[]})"), HasSubstr("must be a map"));
  EXPECT_THAT(Error(R"({"flag":null})"), HasSubstr("true or false"));
  EXPECT_THAT(Error("[]"), HasSubstr("not JSON"));
  EXPECT_THAT(Error(R"({"count":1,"count":2})"), HasSubstr("twice"));
  EXPECT_THAT(Error(R"({"count":0,"flag":1})"), HasSubstr("; "));
  EXPECT_THAT(Error(R"({"words":[")" + std::string(20000, 'x') + R"("]})"),
              HasSubstr("more than 16384 bytes"));
}

TEST(CanonicalJsonTest, NumbersAreShortest) {
  EXPECT_EQ(CanonicalNumber(0.1), "0.1");
  EXPECT_EQ(CanonicalNumber(-0.0), "0");
  EXPECT_EQ(CanonicalNumber(1e7), "10000000");
  EXPECT_EQ(CanonicalNumber(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(CanonicalNumber(1e300), "1e+300");
}

TEST(CanonicalJsonTest, EscapesWhatIsNotPrintable) {
  const auto value = ParseJsonValue(R"({"b":"\u0001\"\\\u007f","a":[1,null,true]})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(CanonicalJson(*value), R"({"a":[1,null,true],"b":"\u0001\"\\\u007f"})");
}

TEST(StrictJsonTest, TakesWhatIsJson) {
  for (const char* text : {"{}", " { } ", R"({"a":-0.5e+10,"b":[],"c":[1,{"d":"\u12aB\n"}],"e":null})"}) {
    EXPECT_TRUE(ParseJsonObject(text).ok()) << text;
  }
  const auto members = ParseJsonObject(R"({"a" : 1.5 ,"b":"x"})");
  ASSERT_TRUE(members.ok());
  EXPECT_EQ((*members)[0].text, "1.5");
  EXPECT_EQ((*members)[1].kind, JsonKind::kString);
}

TEST(StrictJsonTest, RefusesWhatIsNot) {
  for (const char* text : {"",
                           "{",
                           "[]",
                           "1",
                           "{'a':1}",
                           "{a:1}",
                           "{\"a\":1,}",
                           "{\"a\":1}x",
                           "{\"a\":01}",
                           "{\"a\":.5}",
                           "{\"a\":1.}",
                           "{\"a\":+1}",
                           "{\"a\":NaN}",
                           "{\"a\":Infinity}",
                           "{\"a\":1e}",
                           "{\"a\" 1}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12g4\"}",
                           "{\"a\":\"",
                           "{\"a\":\"\x01\"}",
                           "{\"a\":1,\"a\":2}",
                           "{\"b\":{\"a\":1,\"a\":2}}",
                           "{\"a\":tru}",
                           "{\"a\":[1,]}"}) {
    EXPECT_FALSE(ParseJsonObject(text).ok()) << text;
  }
  EXPECT_FALSE(ParseJsonObject("{\"a\":" + std::string(100'000, '[')).ok());
}

}  // namespace
}  // namespace fleetmark
