#include "common/config/json_to_yaml.h"

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(JsonToYaml, KeepsOrderAndTypes) {
  const auto yaml = JsonToYaml(
      R"({"zeta": "12", "alpha": 1.5, "no": "no", "yes": true, "none": null, "list": [{"a": 1, "b": "x: y"}, []], "map": {}})");
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_EQ(*yaml, R"(zeta: "12"
alpha: 1.5
no: "no"
yes: true
none: ~
list:
  - a: 1
    b: "x: y"
  -
    []
map:
  {}
)");
}

TEST(JsonToYaml, HostileStringsStayOneScalar) {
  const auto yaml = JsonToYaml(R"({"name": "a\nb: c\u001b[31m \"q\" \u00e9"})");
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_EQ(*yaml, "name: \"a\\nb: c\\x1b[31m \\\"q\\\" é\"\n");
}

TEST(JsonToYaml, RefusesWhatIsNotJson) { EXPECT_FALSE(JsonToYaml("{\"a\": [1, 2").ok()); }

}  // namespace
}  // namespace fleetmark
