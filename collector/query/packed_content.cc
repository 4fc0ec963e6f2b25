#include "collector/query/packed_content.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace fleetmark::collector {
namespace {

// A proxy may have made the tag a weak one.
bool HasTag(const std::string& list, const std::string& etag) {
  for (absl::string_view tag : absl::StrSplit(list, ',')) {
    tag = absl::StripPrefix(absl::StripAsciiWhitespace(tag), "W/");
    if (tag == etag) return true;
  }
  return false;
}

}  // namespace

void SetContent(const PackedContent& content, const HttpRequest& request, HttpResponse* response) {
  response->headers["ETag"] = content.etag;
  response->headers["Vary"] = "Accept-Encoding";
  if (HasTag(request.Header("if-none-match"), content.etag)) {
    response->status = 304;
    return;
  }
  if (!content.brotli.empty() && AcceptsEncoding(request, "br")) {
    response->body = content.brotli;
    response->headers["Content-Encoding"] = "br";
  } else if (!content.gzip.empty() && AcceptsEncoding(request, "gzip")) {
    response->body = content.gzip;
    response->headers["Content-Encoding"] = "gzip";
  } else {
    response->body = content.plain;
  }
}

}  // namespace fleetmark::collector
