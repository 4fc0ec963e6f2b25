#include "agent/plugin_user.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"

namespace fleetmark::agent {
namespace {

namespace fs = std::filesystem;

class PluginUserTest : public testing::Test {
 protected:
  PluginUserTest() : folder_(testing::TempDir() + "plugin_user_" + std::to_string(getpid())) {
    fs::create_directories(folder_ + "/above");
    chmod(folder_.c_str(), 0755);
    std::ofstream(program_) << "#!/bin/sh\n";
    chmod(program_.c_str(), 0755);
    chmod((folder_ + "/above").c_str(), 0755);
  }
  ~PluginUserTest() override { fs::remove_all(folder_); }

  const std::string folder_;
  const std::string program_ = folder_ + "/above/program";
};

TEST_F(PluginUserTest, RootTakesAnotherUserUnlessToldOtherwise) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto user = FindPluginUser("");
  ASSERT_TRUE(user.ok()) << user.status();
  ASSERT_TRUE(user->has_value());
  EXPECT_NE((*user)->uid, 0u);
  EXPECT_FALSE(FindPluginUser("root")->has_value());
  EXPECT_EQ(FindPluginUser("nobody").value()->uid, 65534u);
}

TEST_F(PluginUserTest, OthersHaveNoChoice) {
  if (geteuid() == 0) GTEST_SKIP() << "root has";
  EXPECT_FALSE(FindPluginUser("")->has_value());
  EXPECT_EQ(FindPluginUser("root").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PluginUserTest, UnknownUserIsAFault) {
  const auto user = FindPluginUser("no-such-user-here");
  EXPECT_EQ(user.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(user.status().message()), testing::HasSubstr("'no-such-user-here'"));
}

TEST_F(PluginUserTest, SaysWhatTheUserCannotReach) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const RunUser nobody{65534, 65534, {}};
  EXPECT_TRUE(CheckReachable(program_, nobody).ok()) << CheckReachable(program_, nobody);
  chmod(program_.c_str(), 0644);
  EXPECT_FALSE(CheckReachable(program_, nobody).ok());
  chmod(program_.c_str(), 0755);
  chmod((folder_ + "/above").c_str(), 0700);
  const absl::Status status = CheckReachable(program_, nobody);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(program_));
  // By its group, also beside the first one.
  chmod((folder_ + "/above").c_str(), 0710);
  EXPECT_FALSE(CheckReachable(program_, nobody).ok());
  ASSERT_EQ(chown((folder_ + "/above").c_str(), 0, 12345), 0);
  EXPECT_TRUE(CheckReachable(program_, RunUser{65534, 65534, {12345}}).ok());
  // This thread kept its rights.
  EXPECT_EQ(access(program_.c_str(), X_OK), 0);
}

}  // namespace
}  // namespace fleetmark::agent
