#include "common/obs/log.h"

#include <algorithm>
#include <functional>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

std::string Captured(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  body();
  fflush(stderr);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, TextFieldsAreQuotedWhereNeeded) {
  InitLog({});
  const std::string line = Captured([] {
    LogInfo("run finished", {{"run", "abc"}, {"reason", "a \"b\"\nc"}, {"n", 3}});
  });
  EXPECT_NE(line.find(" info run finished run=abc reason=\"a \\\"b\\\"\\nc\" n=3\n"), std::string::npos)
      << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

TEST(Log, LevelsBelowTheConfiguredOneAreSilent) {
  InitLog({.level = LogLevel::kWarn});
  EXPECT_EQ(Captured([] { LogInfo("no"); }), "");
  EXPECT_NE(Captured([] { LogWarn("yes"); }), "");
}

TEST(Log, JsonIsOneObjectALine) {
  InitLog({.json = true});
  const std::string line = Captured([] {
    LogError("it broke", {{"path", "/a\"b"}, {"status", absl::DataLossError("x")}});
  });
  EXPECT_NE(line.find(R"("level":"error","message":"it broke","path":"/a\"b","status":"DATA_LOSS: x"})"),
            std::string::npos)
      << line;
}

TEST(Log, LevelNames) {
  LogLevel level;
  EXPECT_TRUE(ParseLogLevel("warn", &level).ok());
  EXPECT_EQ(level, LogLevel::kWarn);
  EXPECT_FALSE(ParseLogLevel("loud", &level).ok());
}

}  // namespace
}  // namespace fleetmark
