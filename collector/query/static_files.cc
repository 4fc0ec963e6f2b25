#include "collector/query/static_files.h"

#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "collector/query/packed_content.h"
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

// Of the browser: what the page may load and run. Nothing inline, nothing from elsewhere, no text made into
// a script.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'";
// The build puts a digest into the names of the files in this folder, so each is for ever.
constexpr char kHashedFolder[] = "assets/";
constexpr char kForEver[] = "public, max-age=31536000, immutable";

struct File {
  PackedContent content;
  std::string type;
  bool for_ever = false;
};

HttpResponse Answer(const File& file, const HttpRequest& request) {
  HttpResponse response;
  response.headers = {{"Cache-Control", file.for_ever ? kForEver : "no-cache"},
                      {"Content-Security-Policy", kPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}};
  response.content_type = file.type;
  SetContent(file.content, request, &response);
  return response;
}

// Name in the folder -> content.
absl::StatusOr<std::map<std::string, std::string>> ReadFolder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> contents;
  std::error_code error;
  size_t bytes = 0;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    FM_ASSIGN_OR_RETURN(std::string content, ReadFile(it->path().string(), kMaxBytes));
    bytes += content.size();
    if (contents.size() >= kMaxFiles || bytes > kMaxBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(folder, " holds more than ", kMaxFiles, " files or ",
                                                       kMaxBytes, " bytes; it can't be a page's folder"));
    }
    contents[fs::relative(it->path(), folder).string()] = std::move(content);
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("read web_dir ", folder));
  if (!contents.contains("index.html"))
    return absl::NotFoundError(absl::StrCat("web_dir ", folder, " has no index.html"));
  return contents;
}

// X.gz and X.br are X compressed, and not files of their own, where X is there.
bool IsCompressed(const std::map<std::string, std::string>& contents, const std::string& name) {
  return (absl::EndsWith(name, ".gz") || absl::EndsWith(name, ".br")) &&
         contents.contains(name.substr(0, name.size() - 3));
}

std::string ContentOf(const std::map<std::string, std::string>& contents, const std::string& name) {
  const auto it = contents.find(name);
  return it == contents.end() ? std::string() : it->second;
}

}  // namespace

absl::Status ServeFolder(const std::string& folder, HttpServer& server) {
  FM_ASSIGN_OR_RETURN(const auto contents, ReadFolder(folder));
  for (const auto& [name, content] : contents) {
    if (IsCompressed(contents, name)) continue;
    auto file = std::make_shared<File>();
    file->content = {.plain = content,
                     .gzip = ContentOf(contents, name + ".gz"),
                     .brotli = ContentOf(contents, name + ".br"),
                     .etag = absl::StrCat("\"", ShortDigest(content), "\"")};
    file->type = ContentType(name);
    file->for_ever = absl::StartsWith(name, kHashedFolder);
    const HttpHandler handler = [file](const HttpRequest& request) -> absl::StatusOr<HttpResponse> {
      return Answer(*file, request);
    };
    server.Handle("GET", ExactPath("/" + name), handler);
    if (name == "index.html") server.Handle("GET", "/", handler);
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
