#include "common/config/yaml_reader.h"

#include "gtest/gtest.h"

#include "common/base/status.h"

namespace fleetmark {
namespace {

// Reads a small schema, as a loader does.
absl::Status Load(std::string_view text) {
  YamlReader reader(text, "x.yaml");
  YamlValue root = reader.root();
  root.RequiredKey("name").String();
  root.Key("interval").Duration(absl::Minutes(5), absl::Seconds(1), absl::Hours(1));
  root.Key("size").Bytes(0, 1, 1 << 20);
  root.Key("count").Int(1, 0, 10);
  root.Key("share").Double(0.5, 0, 1);
  root.Key("on").Bool(false);
  root.Key("level").Choice("info", {"info", "warn"});
  root.Key("list").Strings();
  YamlValue nested = root.Key("nested");
  nested.Key("schedule").String();
  nested.NoOtherKeys();
  root.NoOtherKeys();
  return reader.status();
}

std::string Fault(std::string_view text) { return Message(Load(text)); }

TEST(YamlReader, GoodFile) {
  EXPECT_EQ(Fault("name: a\ninterval: 90s\nsize: 4KiB\ncount: 3\nshare: 0.25\non: true\nlevel: warn\n"
                  "list: [a, b]\nnested: {schedule: x}\n"),
            "");
}

TEST(YamlReader, FaultsNameFileLineColumnKeyAndTheRightKey) {
  EXPECT_EQ(Fault("name: a\nnested:\n  shedule: x\n"),
            "x.yaml:3:3: nested: unknown key 'shedule'; did you mean 'schedule'?");
  EXPECT_EQ(Fault("name: a\nnested: {zzzzzz: 1}\n"),
            "x.yaml:2:10: nested: unknown key 'zzzzzz'; known keys: schedule");
}

TEST(YamlReader, AllFaultsAtOnceInFileOrder) {
  EXPECT_EQ(Fault("count: 11\ninterval: soon\nlevel: loud\n"),
            "x.yaml:1:1: name: is missing\n"
            "x.yaml:1:1: count: must be between 0 and 10, not 11\n"
            "x.yaml:2:1: interval: 'soon' is not a duration; write for example 90s, 5m, 1h30m or 2d\n"
            "x.yaml:3:1: level: must be one of info, warn, not 'loud'");
}

TEST(YamlReader, WrongTypes) {
  EXPECT_EQ(Fault("name: [a]"), "x.yaml:1:1: name: must be text");
  EXPECT_EQ(Fault("name: a\nnested: 3"), "x.yaml:2:1: nested: must be a map of keys and values");
  EXPECT_EQ(Fault("name: a\non: yes"), "x.yaml:2:1: on: must be true or false, not 'yes'");
  EXPECT_EQ(Fault("name: a\ncount: 1.5"), "x.yaml:2:1: count: must be a whole number, not '1.5'");
  EXPECT_EQ(Fault("name: a\nlist: b"), "x.yaml:2:1: list: must be a list");
  EXPECT_EQ(Fault("name: a\nshare: .nan"), "x.yaml:2:1: share: must be a number, not '.nan'");
  EXPECT_EQ(Fault("name: a\nsize: 2MiB"), "x.yaml:2:1: size: must be between 1B and 1MiB, not 2MiB");
}

TEST(YamlReader, DuplicateKeysAndBrokenYaml) {
  EXPECT_EQ(Fault("name: a\nname: b\n"), "x.yaml:2:1: key 'name' is given twice");
  EXPECT_NE(Fault("name: [a\n").find("x.yaml:"), std::string::npos);
  EXPECT_NE(Fault("name: a\n---\nname: b\n").find("has 2 documents"), std::string::npos);
  EXPECT_EQ(Fault(""), "x.yaml:1:1: name: is missing");
}

TEST(YamlReader, HostileInputEnds) {
  EXPECT_FALSE(Load(std::string(100000, '[')).ok());
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string previous = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous;
    for (int j = 0; j < 9; ++j) bomb += "," + previous;
    bomb += "]\n";
  }
  EXPECT_NE(Fault(bomb).find("more than 100000 values"), std::string::npos);
}

TEST(YamlReader, JsonKeepsTypesAndSortsKeys) {
  YamlReader reader("b: [1, 2.5, true, '3', text, null, 007]\na: {q: \"line\\n\"}\n", "x.yaml");
  EXPECT_EQ(reader.root().Json(), R"({"a":{"q":"line\u000a"},"b":[1,2.5,true,"3","text",null,"007"]})");
  EXPECT_TRUE(reader.status().ok());
}

}  // namespace
}  // namespace fleetmark
