// Answers that are dear to make and asked for by many, kept as they are sent: JSON, compressed, with a tag.
//
// An answer is given as it is while nothing has changed and it is not older than `most`. Otherwise it is made
// anew, by the first who asks; but not sooner than `least` after it was made, or four times what making it
// took, so that many readers of a fleet that never rests cost no more than one. Until then, and for those who
// ask while it is being made, the old one is given with the header X-Fleetmark-Stale: 1. It follows that
// an answer without that header knows all that had changed before it was asked for, but for what `version`
// does not tell; that is at most `most` late.
//
// Bounds: `max_bytes` of all answers; those that were not asked for for the longest time go first.
//
// Thread-safety: Get, any thread; it may block while an answer is made that has no old one.
// Ownership: the clock must outlive it. Errors: those of `make`, which are not kept.
#ifndef FLEETMARK_COLLECTOR_QUERY_ANSWER_CACHE_H_
#define FLEETMARK_COLLECTOR_QUERY_ANSWER_CACHE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/query/packed_content.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/http/http_server.h"

namespace fleetmark::collector {

class AnswerCache {
 public:
  struct Options {
    Clock* clock = nullptr;
    // Cheap; differs whenever answers may differ.
    std::function<absl::StatusOr<std::string>()> version;
    absl::Duration least = absl::Seconds(1);
    absl::Duration most = absl::Seconds(5);
    size_t max_bytes = 32 << 20;
  };

  // One answer as JSON.
  using Make = std::function<absl::StatusOr<std::string>()>;

  explicit AnswerCache(Options options) : options_(std::move(options)) {}

  // `key` names what is asked for.
  absl::StatusOr<HttpResponse> Get(const HttpRequest& request, const std::string& key, const Make& make);

 private:
  struct Entry {
    std::shared_ptr<const PackedContent> content;  // null: none was made yet
    std::string version;                           // before it was made
    MonoTime made;
    MonoTime next;  // not made anew before
    MonoTime asked;
    bool is_being_made = false;
  };

  // Makes the entry's content with the lock released.
  absl::Status Remake(const std::string& key, const std::string& version, const Make& make)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeRoom(const std::string& kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  Mutex mu_;
  CondVar made_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_ANSWER_CACHE_H_
