#include "common/base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string pattern = testing::TempDir() + "fm_file_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(FileTest, ReplaceThenReadGivesTheContent) {
  const std::string path = folder_ + "/a";
  ASSERT_TRUE(ReplaceFile(path, "one").ok());
  ASSERT_TRUE(ReplaceFile(path, std::string(100000, 'x')).ok());
  EXPECT_EQ(ReadFile(path, 100000).value(), std::string(100000, 'x'));
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST_F(FileTest, ReadRefusesAFileAboveTheBound) {
  ASSERT_TRUE(ReplaceFile(folder_ + "/a", "12345").ok());
  EXPECT_EQ(ReadFile(folder_ + "/a", 4).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadFile(folder_ + "/a", 5).value(), "12345");
}

TEST_F(FileTest, MissingFileNamesPathAndErrno) {
  const absl::Status status = ReadFile(folder_ + "/none", 10).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/none: No such file or directory (ENOENT)"), absl::string_view::npos)
      << status;
}

TEST_F(FileTest, ReadsFilesOfProcThatHaveNoSize) {
  EXPECT_FALSE(ReadFile("/proc/self/stat", 65536).value().empty());
}

TEST_F(FileTest, MakeFoldersIsRepeatableAndRefusesAFileInTheWay) {
  EXPECT_TRUE(MakeFolders(folder_ + "/x/y/z").ok());
  EXPECT_TRUE(MakeFolders(folder_ + "/x/y/z").ok());
  ASSERT_TRUE(ReplaceFile(folder_ + "/file", "").ok());
  EXPECT_FALSE(MakeFolders(folder_ + "/file").ok());
  EXPECT_FALSE(MakeFolders(folder_ + "/file/below").ok());
}

TEST_F(FileTest, RemoveTreeDoesNotFollowLinks) {
  ASSERT_TRUE(MakeFolders(folder_ + "/keep").ok());
  ASSERT_TRUE(ReplaceFile(folder_ + "/keep/a", "a").ok());
  ASSERT_TRUE(MakeFolders(folder_ + "/gone").ok());
  ASSERT_EQ(symlink((folder_ + "/keep").c_str(), (folder_ + "/gone/link").c_str()), 0);
  EXPECT_TRUE(RemoveTree(folder_ + "/gone").ok());
  EXPECT_TRUE(RemoveTree(folder_ + "/gone").ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/keep/a"));
}

TEST_F(FileTest, UniqueFdClosesOnce) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  {
    UniqueFd a(fds[0]);
    UniqueFd b(std::move(a));
    EXPECT_FALSE(a.valid());
    EXPECT_EQ(b.get(), fds[0]);
  }
  struct stat st;
  EXPECT_NE(fstat(fds[0], &st), 0);
  close(fds[1]);
}

}  // namespace
}  // namespace fleetmark
