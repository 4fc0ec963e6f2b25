// The conformance test compares what is accepted with a real Prometheus; here are the bounds, the messages
// and the printed form.
#include "collector/promql/parser.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/promql/lexer.h"
#include "collector/promql/number_text.h"

namespace fleetmark::collector::promql {
namespace {

using testing::HasSubstr;

std::string Repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string Fault(const std::string& query) { return std::string(ParseQuery(query).status().message()); }

std::string Printed(const std::string& query) {
  const auto expr = ParseQuery(query);
  return expr.ok() ? ToString(**expr) : std::string(expr.status().message());
}

TEST(ParserTest, MessagesSayWhere) {
  EXPECT_EQ(Fault("sum(\n  foo bar)"),
            "2:7: parse error: unexpected identifier \"bar\" in aggregation, expected \",\"");
  EXPECT_THAT(Fault("foo{a=}"), HasSubstr("1:7: parse error: unexpected \"}\" in label matching"));
  EXPECT_THAT(Fault("rate(foo)"), HasSubstr("expected type range vector in call to function \"rate\", got "
                                            "instant vector"));
  EXPECT_THAT(Fault("nothing_like_it(foo)"), HasSubstr("unknown function with name \"nothing_like_it\""));
  EXPECT_THAT(Fault("foo{a=~\"(\"}"), HasSubstr("error parsing regexp"));
}

TEST(ParserTest, DepthIsBounded) {
  EXPECT_TRUE(ParseQuery(Repeat("(", 90) + "foo" + Repeat(")", 90)).ok());
  EXPECT_THAT(Fault(Repeat("(", 100'000) + "foo" + Repeat(")", 100'000)), HasSubstr("100000 words"));
  EXPECT_THAT(Fault(Repeat("(", 1000) + "foo" + Repeat(")", 1000)), HasSubstr("nested deeper than 100"));
  EXPECT_THAT(Fault(Repeat("-", 1000) + "foo"), HasSubstr("nested deeper than 100"));
  EXPECT_THAT(Fault("foo" + Repeat(" + foo", 200)), HasSubstr("more than 100 operators in a row"));
  EXPECT_THAT(Fault("foo" + Repeat("[5m:1m]", 200)), HasSubstr("too many ranges"));
}

TEST(ParserTest, LengthIsBounded) {
  EXPECT_THAT(Fault("foo{a=\"" + std::string(kMaxQueryBytes, 'x') + "\"}"),
              HasSubstr("longer than 262144 bytes"));
}

TEST(ParserTest, PrintsWhatMeansTheSame) {
  for (const std::string query : {
           "sum by (a, b) (rate(foo{x=\"y\"}[5m] offset -1h30m))",
           "foo * on (a) group_left (b) bar @ 12.5 offset 1d",
           "topk(3, foo) > bool 1",
           "label_join(foo, \"a\", \"-\", \"b\", \"c\")",
           "max_over_time((foo + 1)[1h:1m] @ end())",
           "-foo ^ 2",
           "{__name__=\"bool\"}",
           "{__name__=\"not a name\"}",
           "{__name__=~\"a.*\",b!=\"c\"}",
           "foo unless ignoring () bar",
           "+Inf",
           "3 - Inf ^ 2 ^ -2",
       }) {
    const std::string once = Printed(query);
    EXPECT_EQ(Printed(once), once) << query;
  }
  EXPECT_EQ(Printed("sum(foo)by(a)"), "sum by (a) (foo)");
  EXPECT_EQ(Printed("foo[90m]offset 60s"), "foo[1h30m] offset 1m");
}

TEST(ParserTest, SelectorsAlone) {
  EXPECT_TRUE(ParseSelector("foo{a=\"b\"}").ok());
  EXPECT_FALSE(ParseSelector("foo[5m]").ok());
  EXPECT_FALSE(ParseSelector("foo offset 5m").ok());
  EXPECT_FALSE(ParseSelector("sum(foo)").ok());
}

TEST(LexerTest, Durations) {
  EXPECT_EQ(*ParseDurationMs("1h30m"), 5'400'000);
  EXPECT_EQ(*ParseDurationMs("1y2w3d4h5m6s7ms"),
            365LL * 86'400'000 + 14LL * 86'400'000 + 3 * 86'400'000 + 4 * 3'600'000 + 5 * 60'000 + 6007);
  for (const std::string bad :
       {"", "5", "5x", "m", "5m1h", "5m5m", "-5m", "1.5h", "99999999999999999999s", "300y"}) {
    EXPECT_FALSE(ParseDurationMs(bad).ok()) << bad;
  }
}

TEST(NumberTextTest, AsGoWritesThem) {
  EXPECT_EQ(PlainNumber(1e22), "10000000000000000000000");
  EXPECT_EQ(PlainNumber(1e-7), "0.0000001");
  EXPECT_EQ(PlainNumber(-187.42), "-187.42");
  EXPECT_EQ(PlainNumber(-0.0), "-0");
  EXPECT_EQ(PlainNumber(123456), "123456");
  EXPECT_EQ(JsonNumber(1e21), "1e+21");
  EXPECT_EQ(JsonNumber(1e-7), "1e-07");
  EXPECT_EQ(JsonNumber(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(SecondsText(1'790'000'000'050), "1790000000.050");
  EXPECT_EQ(SecondsText(-1500), "-1.500");
  EXPECT_EQ(SecondsText(-500), "-0.500");
  EXPECT_EQ(DurationText(5'400'000), "1h30m");
}

}  // namespace
}  // namespace fleetmark::collector::promql
