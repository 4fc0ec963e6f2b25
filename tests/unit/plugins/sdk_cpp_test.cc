#include <nlohmann/json.hpp>

#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "plugins/sdk/cpp/cpus.h"
#include "plugins/sdk/cpp/fleetmark_plugin.h"

namespace fleetmark::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;

// What `body` writes as the protocol, line by line. Runs it with standard output on a file.
template <typename Body>
std::vector<std::string> LinesOf(Body body) {
  FILE* file = tmpfile();
  const int saved = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  {
    Plugin plugin;
    body(plugin);
    fflush(stdout);
  }
  dup2(saved, STDOUT_FILENO);
  close(saved);
  rewind(file);
  std::vector<std::string> lines;
  char buffer[1024];
  while (fgets(buffer, sizeof buffer, file) != nullptr) lines.emplace_back(buffer, strlen(buffer) - 1);
  fclose(file);
  return lines;
}

TEST(SdkCpp, WritesEachTypeOfLine) {
  EXPECT_THAT(
      LinesOf([](Plugin& plugin) {
        plugin.Metric("rate", 0.1, "GB/s", {{"disk", "a"}, {"node", "b"}}, "higher");
        plugin.Sample("rate", 3, "GB/s");
        plugin.Progress(0.5, "half");
        plugin.Event("e");
        plugin.Log("l");
        plugin.Invalid("i");
        plugin.Done();
      }),
      ElementsAre(
          R"({"type":"metric","name":"rate","value":0.1,"unit":"GB/s","better":"higher","labels":{"disk":"a","node":"b"}})",
          R"({"type":"sample","name":"rate","value":3,"unit":"GB/s","labels":{}})",
          R"({"type":"progress","fraction":0.5,"message":"half"})", R"({"type":"event","message":"e"})",
          R"({"type":"log","message":"l"})", R"({"type":"invalid","message":"i"})", R"({"type":"done"})"));
}

TEST(SdkCpp, PrintedTextDoesNotReachTheProtocol) {
  EXPECT_THAT(LinesOf([](Plugin& plugin) {
                printf("noise of a library\n");
                fflush(stdout);
                plugin.Done();
              }),
              ElementsAre(R"({"type":"done"})"));
}

TEST(SdkCpp, ValuesThatAreNotFiniteMakeTheRunInvalid) {
  EXPECT_THAT(LinesOf([](Plugin& plugin) { plugin.Metric("rate", 0.0 / 0.0, "1/s"); }),
              ElementsAre(R"({"type":"invalid","message":"rate is not a finite number"})"));
}

TEST(SdkCpp, ReadsParameters) {
  setenv("FLEETMARK_PARAM_MAX_SIZE", "-42", 1);
  setenv("FLEETMARK_PARAM_RATE", "1.5e3", 1);
  setenv("FLEETMARK_PARAM_FAST", "true", 1);
  Plugin plugin;
  EXPECT_EQ(plugin.Int("max_size"), -42);
  EXPECT_EQ(plugin.Float("rate"), 1500);
  EXPECT_TRUE(plugin.Bool("fast"));
  EXPECT_EQ(plugin.String("fast"), "true");
}

TEST(SdkCppDeathTest, BadParametersEndWith78AndSayWhich) {
  setenv("FLEETMARK_PARAM_N", "12x", 1);
  EXPECT_EXIT(Plugin().Int("n"), ExitedWithCode(78), "parameter 'n' must be a whole number, not '12x'");
  EXPECT_EXIT(Plugin().Bool("n"), ExitedWithCode(78), "'n' must be true or false");
  EXPECT_EXIT(Plugin().Float("n"), ExitedWithCode(78), "'n' must be a number");
  EXPECT_EXIT(Plugin().Int("gone"), ExitedWithCode(78), "'gone' is not set .FLEETMARK_PARAM_GONE.");
  EXPECT_EXIT(Plugin().Skip("no GPU"), ExitedWithCode(77), "no GPU");
  EXPECT_EXIT(Plugin().TryLater("busy"), ExitedWithCode(75), "busy");
  EXPECT_EXIT(Plugin().Fail("broken"), ExitedWithCode(1), "broken");
}

TEST(JsonText, EveryStringReadsBack) {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  all += std::string("\0 \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", 13);
  EXPECT_EQ(nlohmann::json::parse(JsonString(all)).get<std::string>(), all);
}

TEST(JsonText, IllFormedBytesAreReplaced) {
  for (const char* bad : {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xC3"}) {
    const std::string text = RepairUtf8(std::string("a") + bad);
    EXPECT_EQ(text.substr(0, 4), "a\xEF\xBF\xBD");
    EXPECT_EQ(RepairUtf8(text), text);
  }
}

TEST(JsonText, NumbersReadBackExactly) {
  for (const double value : {0.0, -1.0, 0.1, 1.0 / 3, 1e300, 5e-324, 123456789.0, 22.162997544288913}) {
    EXPECT_EQ(nlohmann::json::parse(JsonNumber(value)).get<double>(), value);
  }
}

TEST(Cpus, ThisThreadCanBePinnedToEachAllowedCpu) {
  const std::vector<int> cpus = AllowedCpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(PinThisThread(cpus.back()));
  EXPECT_THAT(AllowedCpus(), ElementsAre(cpus.back()));
  EXPECT_FALSE(PinThisThread(100000));
}

}  // namespace
}  // namespace fleetmark::plugin
