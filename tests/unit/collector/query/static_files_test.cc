#include "collector/query/static_files.h"

#include <httplib.h>

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"

#include "common/base/file.h"

namespace fleetmark::collector {
namespace {

class StaticFilesTest : public testing::Test {
 protected:
  StaticFilesTest() {
    std::string pattern = testing::TempDir() + "fm_web_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~StaticFilesTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(StaticFilesTest, ServesFilesWithTypesTagsAndAPolicy) {
  ASSERT_TRUE(ReplaceFile(folder_ + "/index.html", "<!doctype html>").ok());
  ASSERT_TRUE(ReplaceFile(folder_ + "/app.js", "1;").ok());
  HttpServer server;
  ASSERT_TRUE(ServeFolder(folder_, server).ok());
  httplib::Client client("127.0.0.1", server.Start("127.0.0.1", 0).value());

  auto index = client.Get("/");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->body, "<!doctype html>");
  EXPECT_EQ(index->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(index->get_header_value("Content-Security-Policy").find("script-src 'self'"), std::string::npos);

  auto script = client.Get("/app.js");
  EXPECT_EQ(script->get_header_value("Content-Type"), "text/javascript; charset=utf-8");
  const std::string tag = script->get_header_value("ETag");
  EXPECT_EQ(client.Get("/app.js", httplib::Headers{{"If-None-Match", tag}})->status, 304);

  // A dot in a name is a dot, and nothing outside the folder is served.
  EXPECT_EQ(client.Get("/appXjs")->status, 404);
  EXPECT_EQ(client.Get("/../etc/hostname")->status, 404);
}

TEST_F(StaticFilesTest, ServesWhatIsCompressedAlreadyToThoseWhoTakeIt) {
  std::filesystem::create_directory(folder_ + "/assets");
  ASSERT_TRUE(ReplaceFile(folder_ + "/index.html", "<!doctype html>").ok());
  ASSERT_TRUE(ReplaceFile(folder_ + "/assets/app-1.js", "plain").ok());
  ASSERT_TRUE(ReplaceFile(folder_ + "/assets/app-1.js.gz", "gz").ok());
  ASSERT_TRUE(ReplaceFile(folder_ + "/assets/app-1.js.br", "br").ok());
  HttpServer server;
  ASSERT_TRUE(ServeFolder(folder_, server).ok());
  httplib::Client client("127.0.0.1", server.Start("127.0.0.1", 0).value());
  client.set_decompress(false);
  const auto get = [&client](const std::string& accepted) {
    return client.Get("/assets/app-1.js", httplib::Headers{{"Accept-Encoding", accepted}});
  };
  EXPECT_EQ(get("gzip, br")->body, "br");
  EXPECT_EQ(get("gzip")->body, "gz");
  EXPECT_EQ(get("gzip")->get_header_value("Content-Encoding"), "gzip");
  EXPECT_EQ(get("gzip;q=0")->body, "plain");
  EXPECT_EQ(get("identity")->body, "plain");
  // Its name has a digest, so it is for ever; the page that names it is asked for each time.
  EXPECT_NE(get("br")->get_header_value("Cache-Control").find("immutable"), std::string::npos);
  EXPECT_EQ(client.Get("/")->get_header_value("Cache-Control"), "no-cache");
  EXPECT_EQ(client.Get("/assets/app-1.js.gz")->status, 404);
}

TEST_F(StaticFilesTest, AFolderWithoutAPageIsAnError) {
  HttpServer server;
  EXPECT_EQ(ServeFolder(folder_, server).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ServeFolder(folder_ + "/none", server).ok());
}

}  // namespace
}  // namespace fleetmark::collector
