#include "common/run/work_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"

#include "common/base/file.h"
#include "common/run/folder_seal.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark {
namespace {

namespace fs = std::filesystem;

class WorkFolderTest : public testing::Test {
 protected:
  WorkFolderTest() : root_(testing::TempDir() + "work_folder_" + std::to_string(getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~WorkFolderTest() override { EXPECT_TRUE(RemoveTree(root_).ok()); }

  const std::string root_;
};

TEST_F(WorkFolderTest, GoesWithEverythingInIt) {
  absl::StatusOr<WorkFolder> folder = WorkFolder::Make(root_ + "/run", std::nullopt);
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(WorkFolder::Make(root_ + "/run", std::nullopt).status().code(), absl::StatusCode::kAlreadyExists);
  fs::create_directories(folder->path() + "/locked/in");
  std::ofstream(folder->path() + "/locked/in/file") << "x";
  std::ofstream(root_ + "/kept") << "x";
  fs::create_symlink(root_ + "/kept", folder->path() + "/link");
  fs::create_symlink(root_, folder->path() + "/locked/folder_link");
  chmod((folder->path() + "/locked/in").c_str(), 0);
  chmod((folder->path() + "/locked").c_str(), 0500);
  EXPECT_TRUE(folder->Remove().ok());
  EXPECT_FALSE(fs::exists(root_ + "/run"));
  EXPECT_TRUE(fs::exists(root_ + "/kept"));
}

TEST_F(WorkFolderTest, GoesHoweverDeepItIs) {
  ASSERT_EQ(mkdir((root_ + "/run").c_str(), 0700), 0);
  const fs::path before = fs::current_path();
  fs::current_path(root_ + "/run");
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(mkdir("deep", 0700), 0);
    std::ofstream("file") << "x";
    ASSERT_EQ(chdir("deep"), 0);
  }
  fs::current_path(before);
  EXPECT_TRUE(TakesMoreThan(root_ + "/run", int64_t{1} << 40, {}));
  EXPECT_TRUE(RemoveTree(root_ + "/run").ok());
  EXPECT_FALSE(fs::exists(root_ + "/run"));
}

TEST_F(WorkFolderTest, CountsWhatIsOnDisk) {
  fs::create_directories(root_ + "/a/b");
  std::ofstream(root_ + "/a/b/file") << std::string(1 << 20, 'x');
  ASSERT_EQ(truncate((root_ + "/a/b/file").c_str(), off_t{1} << 40), 0);  // with a hole
  EXPECT_TRUE(TakesMoreThan(root_, (1 << 20) - 1, {}));
  EXPECT_FALSE(TakesMoreThan(root_, 4 << 20, {}));
  EXPECT_FALSE(TakesMoreThan(root_ + "/nowhere", 0, {}));
}

TEST_F(WorkFolderTest, CountsFilesWithoutAName) {
  const UniqueFd fd(open((root_ + "/gone").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(unlink((root_ + "/gone").c_str()), 0);
  const std::string text(1 << 20, 'x');
  ASSERT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ASSERT_EQ(fsync(fd.get()), 0);
  EXPECT_FALSE(TakesMoreThan(root_, 512 << 10, {}));
  EXPECT_TRUE(TakesMoreThan(root_, 512 << 10, {getpid()}));
  EXPECT_FALSE(TakesMoreThan(root_, 4 << 20, {getpid()}));
}

class FolderSealTest : public WorkFolderTest {
 protected:
  FolderSealTest() {
    Write("program", "one");
    plugin_.folder = root_;
    plugin_.digest = DigestFolder(root_).value();
  }

  void Write(const std::string& name, const std::string& text) { std::ofstream(root_ + "/" + name) << text; }

  InstalledPlugin plugin_;
  FakeClock clock_{RealClock().Now() + absl::Hours(1)};
  FolderSeals seals_{clock_};
};

TEST_F(FolderSealTest, SameFilesAreGoodAgainAndAgain) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(seals_.Check(plugin_).ok());
}

TEST_F(FolderSealTest, AnyChangeIsSeen) {
  ASSERT_TRUE(seals_.Check(plugin_).ok());
  struct stat before;
  ASSERT_EQ(stat((root_ + "/program").c_str(), &before), 0);
  Write("program", "two");  // as long as before
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, (root_ + "/program").c_str(), times, 0), 0);
  EXPECT_EQ(seals_.Check(plugin_).code(), absl::StatusCode::kFailedPrecondition);
  Write("program", "one");
  EXPECT_TRUE(seals_.Check(plugin_).ok());
  Write("another", "");
  EXPECT_EQ(seals_.Check(plugin_).code(), absl::StatusCode::kFailedPrecondition);
  fs::remove(root_ + "/another");
  chmod((root_ + "/program").c_str(), 0755);
  EXPECT_EQ(seals_.Check(plugin_).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(FolderSealTest, NewPluginUnderAnOldFolderIsRead) {
  ASSERT_TRUE(seals_.Check(plugin_).ok());
  Write("program", "two");
  plugin_.digest = DigestFolder(root_).value();
  EXPECT_TRUE(seals_.Check(plugin_).ok());
}

TEST_F(FolderSealTest, FilesThatCannotBeReadAreAnError) {
  fs::remove_all(root_);
  EXPECT_EQ(seals_.Check(plugin_).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fleetmark
