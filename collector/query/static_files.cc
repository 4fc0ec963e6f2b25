#include "collector/query/static_files.h"

#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/digest.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxFiles = 1000;
constexpr size_t kMaxBytes = 64 << 20;

std::string ContentType(const std::filesystem::path& path) {
  static const std::map<std::string, std::string> types = {{".html", "text/html; charset=utf-8"},
                                                           {".css", "text/css; charset=utf-8"},
                                                           {".js", "text/javascript; charset=utf-8"},
                                                           {".json", "application/json"},
                                                           {".svg", "image/svg+xml"},
                                                           {".png", "image/png"},
                                                           {".ico", "image/x-icon"},
                                                           {".woff2", "font/woff2"}};
  const auto it = types.find(path.extension().string());
  return it == types.end() ? "application/octet-stream" : it->second;
}

struct File {
  std::string content;
  std::string type;
  std::string etag;
};

HttpResponse Answer(const File& file, const HttpRequest& request) {
  HttpResponse response;
  response.headers = {{"ETag", file.etag},
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}};
  response.content_type = file.type;
  const auto known = request.headers.find("if-none-match");
  if (known != request.headers.end() && known->second == file.etag) {
    response.status = 304;
  } else {
    response.body = file.content;
  }
  return response;
}

}  // namespace

absl::Status ServeFolder(const std::string& folder, HttpServer& server) {
  namespace fs = std::filesystem;
  std::error_code error;
  size_t files = 0, bytes = 0;
  bool index = false;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    FM_ASSIGN_OR_RETURN(std::string content, ReadFile(it->path().string(), kMaxBytes));
    bytes += content.size();
    if (++files > kMaxFiles || bytes > kMaxBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(folder, " holds more than ", kMaxFiles, " files or ",
                                                       kMaxBytes, " bytes; it can't be a page's folder"));
    }
    auto file = std::make_shared<File>();
    file->etag = absl::StrCat("\"", ShortDigest(content), "\"");
    file->content = std::move(content);
    file->type = ContentType(it->path());
    const HttpHandler handler = [file](const HttpRequest& request) -> absl::StatusOr<HttpResponse> {
      return Answer(*file, request);
    };
    const std::string name = fs::relative(it->path(), folder).string();
    server.Handle("GET", ExactPath("/" + name), handler);
    if (name == "index.html") {
      server.Handle("GET", "/", handler);
      index = true;
    }
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("read web_dir ", folder));
  if (!index) return absl::NotFoundError(absl::StrCat("web_dir ", folder, " has no index.html"));
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
