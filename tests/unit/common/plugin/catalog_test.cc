#include "common/plugin/catalog.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/model/labels.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() : root_(testing::TempDir() + "catalog_test_" + std::to_string(getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~CatalogTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
    chmod((root_ + "/" + path).c_str(), mode);
  }

  void Install(const std::string& folder, const std::string& name, const std::string& command = "./run",
               mode_t mode = 0755) {
    Write(folder + "/manifest.yaml", "api: 1\nname: " + name + "\nversion: 1\nsummary: s\ncommand: [" +
                                         command + "]\ndynamic_metrics: true\n");
    Write(folder + "/run", "#!/bin/sh\n", mode);
  }

  std::shared_ptr<const Catalog> Load(const std::vector<std::string>& folders) {
    std::vector<std::string> paths;
    for (const std::string& folder : folders) paths.push_back(root_ + "/" + folder);
    return Catalog::Load(paths);
  }

  std::string ProblemOf(const std::string& name) {
    const auto catalog = Load({"p"});
    const auto plugin = catalog->Get(name);
    return plugin.ok() ? "" : std::string(plugin.status().message());
  }

  const std::string root_;
};

TEST_F(CatalogTest, OneBadPluginStopsNoOther) {
  Install("p/good", "good");
  Install("p/not_executable", "not_executable", "./run", 0644);
  Install("p/missing", "missing", "./other");
  Install("p/other_name", "another");
  Install("p/nowhere", "nowhere", "no_such_program_anywhere");
  Install("p/system", "system", "sh");
  Write("p/broken/manifest.yaml", "api: [");
  Write("p/no_plugin/readme", "");
  Write("p/.hidden/manifest.yaml", "x");
  const auto catalog = Load({"p", "not_there"});
  EXPECT_EQ(catalog->plugins().size(), 2u);
  EXPECT_EQ(catalog->broken().size(), 5u);
  EXPECT_EQ(catalog->notes().size(), 1u);
  EXPECT_THAT(ProblemOf("not_executable"), HasSubstr("not executable; chmod +x"));
  EXPECT_THAT(ProblemOf("missing"), HasSubstr("is missing"));
  EXPECT_THAT(ProblemOf("other_name"), HasSubstr("must be the folder's name"));
  EXPECT_THAT(ProblemOf("nowhere"), HasSubstr("'no_such_program_anywhere'"));
  EXPECT_THAT(ProblemOf("broken"), HasSubstr("manifest.yaml:1"));
  EXPECT_THAT(ProblemOf("god"), HasSubstr("did you mean 'good'?"));
  EXPECT_EQ(ProblemOf("good"), "");
  EXPECT_EQ(catalog->Find("good")->program, fs::canonical(root_ + "/p/good/run").string());
}

TEST_F(CatalogTest, FirstPathWins) {
  Install("a/same", "same");
  Install("b/same", "same");
  const auto catalog = Load({"a", "b"});
  ASSERT_EQ(catalog->plugins().size(), 1u);
  EXPECT_THAT(catalog->plugins()[0].folder, HasSubstr("/a/same"));
  EXPECT_THAT(catalog->notes(), testing::ElementsAre(HasSubstr("'same' is already in")));
}

TEST_F(CatalogTest, DescribesAllWithinTheLimits) {
  Install("p/good", "good");
  Write("p/9 bad-Name\xFF/manifest.yaml", std::string(5000, '-'));
  const std::vector<v1::Plugin> plugins = Load({"p"})->Describe();
  ASSERT_EQ(plugins.size(), 2u);
  EXPECT_EQ(plugins[0].digest().size(), 64u);
  EXPECT_EQ(plugins[0].problem(), "");
  EXPECT_TRUE(CheckIdentifier("name", plugins[1].name()).ok()) << plugins[1].name();
  EXPECT_TRUE(CheckText("problem", plugins[1].problem(), 1024).ok());
}

TEST_F(CatalogTest, DigestSeesNameModeAndContent) {
  Install("p/good", "good");
  const std::string folder = root_ + "/p/good";
  std::vector<std::string> digests = {*DigestFolder(folder)};
  EXPECT_EQ(*DigestFolder(folder), digests[0]);
  Write("p/good/run", "#!/bin/sh\nexit 1\n", 0755);
  digests.push_back(*DigestFolder(folder));
  chmod((folder + "/run").c_str(), 0644);
  digests.push_back(*DigestFolder(folder));
  Write("p/good/sub/data", "");
  digests.push_back(*DigestFolder(folder));
  fs::rename(folder + "/sub/data", folder + "/sub/date");
  digests.push_back(*DigestFolder(folder));
  fs::create_symlink("run", folder + "/link");
  digests.push_back(*DigestFolder(folder));
  fs::remove(folder + "/link");
  fs::create_symlink("sub", folder + "/link");
  digests.push_back(*DigestFolder(folder));
  EXPECT_EQ(std::set<std::string>(digests.begin(), digests.end()).size(), digests.size());
}

TEST_F(CatalogTest, DigestIsBounded) {
  for (int i = 0; i < 1001; ++i) Write("many/" + std::to_string(i), "");
  EXPECT_TRUE(absl::IsResourceExhausted(DigestFolder(root_ + "/many").status()));
  Write("large/file", "");
  fs::resize_file(root_ + "/large/file", (size_t{256} << 20) + 1);
  EXPECT_TRUE(absl::IsResourceExhausted(DigestFolder(root_ + "/large").status()));
  fs::create_directories(root_ + "/odd");
  ASSERT_EQ(mkfifo((root_ + "/odd/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(DigestFolder(root_ + "/odd").status()));
}

}  // namespace
}  // namespace fleetmark
