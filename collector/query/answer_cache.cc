#include "collector/query/answer_cache.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/http/gzip.h"

namespace fleetmark::collector {
namespace {

constexpr int kCostPart = 4;   // making an answer takes at most a fifth of a thread's time
constexpr int kGzipLevel = 4;  // columns of numbers: level 9 takes three times as long for a tenth less
constexpr char kStale[] = "X-Fleetmark-Stale";

constexpr size_t kEntryBytes = 1024;  // key and the like

size_t Bytes(const PackedContent& content) {
  return content.plain.size() + content.gzip.size() + kEntryBytes;
}

HttpResponse Answer(const PackedContent& content, bool is_stale, const HttpRequest& request) {
  HttpResponse response;
  response.headers["Cache-Control"] = "private, no-cache";
  // Also when it is not: with a 304 the browser keeps the headers that it has, but for those that come again.
  response.headers[kStale] = is_stale ? "1" : "0";
  SetContent(content, request, &response);
  return response;
}

}  // namespace

absl::StatusOr<HttpResponse> AnswerCache::Get(const HttpRequest& request, const std::string& key,
                                              const Make& make) {
  FM_ASSIGN_OR_RETURN(const std::string version, options_.version());
  MutexLock lock(mu_);
  while (true) {
    Entry& entry = entries_[key];
    const MonoTime now = options_.clock->Mono();
    entry.asked = now;
    if (entry.content != nullptr) {
      const bool is_current = entry.version == version && now - entry.made < options_.most;
      if (is_current || entry.is_being_made || now < entry.next) {
        return Answer(*entry.content, !is_current, request);
      }
    }
    if (!entry.is_being_made) {
      FM_RETURN_IF_ERROR(Remake(key, version, make));
      return Answer(*entries_[key].content, false, request);
    }
    made_.Wait(mu_);
  }
}

absl::Status AnswerCache::Remake(const std::string& key, const std::string& version, const Make& make) {
  entries_[key].is_being_made = true;
  mu_.Unlock();
  const MonoTime begin = options_.clock->Mono();
  absl::StatusOr<std::string> json = make();
  auto content = std::make_shared<PackedContent>();
  if (json.ok()) {
    content->gzip = Gzip(*json, kGzipLevel);
    content->etag = absl::StrCat("\"", ShortDigest(*json), "\"");
    content->plain = *std::move(json);
  }
  const MonoTime end = options_.clock->Mono();
  mu_.Lock();
  made_.NotifyAll();
  if (!json.ok()) {
    entries_.erase(key);
    return json.status();
  }
  Entry& entry = entries_[key];
  entry = {.content = std::move(content),
           .version = version,
           .made = begin,
           .next = end + std::max(options_.least, kCostPart * (end - begin)),
           .asked = end};
  MakeRoom(key);
  return absl::OkStatus();
}

void AnswerCache::MakeRoom(const std::string& kept) {
  size_t bytes = 0;
  for (const auto& [key, entry] : entries_) bytes += entry.content ? Bytes(*entry.content) : 0;
  while (bytes > options_.max_bytes) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->first == kept || it->second.is_being_made || it->second.content == nullptr) continue;
      if (oldest == entries_.end() || it->second.asked < oldest->second.asked) oldest = it;
    }
    if (oldest == entries_.end()) return;
    bytes -= Bytes(*oldest->second.content);
    entries_.erase(oldest);
  }
}

}  // namespace fleetmark::collector
