// A durable, bounded first-in first-out queue in a folder: what waits to be sent elsewhere.
//
// Records are appended to segment files (`<number>.seg`), each with its length, a CRC-32C and a weight; the
// file `position` says up to where they were taken. Both survive crashes and power cuts: Append syncs before
// it returns, and Advance replaces `position` atomically. At the bound the oldest segment is dropped, with
// the weight of what was not taken yet. A broken record ends its segment: what follows in it is dropped and
// counted.
//
// Thread-safety: all methods, any thread; Append and Peek/Advance block on the disk.
// Ownership: owns the folder; one process at a time.
// Errors: Unavailable and ResourceExhausted from the file system; nothing is appended then.
#ifndef FLEETMARK_COLLECTOR_REMOTE_SEGMENT_QUEUE_H_
#define FLEETMARK_COLLECTOR_REMOTE_SEGMENT_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/base/file.h"
#include "common/base/mutex.h"

namespace fleetmark::collector {

class SegmentQueue {
 public:
  struct Options {
    std::string folder;
    uint64_t max_bytes = 1ULL << 30;
    uint64_t segment_bytes = 4 << 20;  // a segment ends with the record that reaches it
  };
  static constexpr size_t kMaxRecordBytes = 8 << 20;

  struct Position {
    uint64_t segment = 0;
    uint64_t offset = 0;
    auto operator<=>(const Position&) const = default;
  };
  struct Batch {
    std::vector<std::string> records;
    uint64_t weight = 0;
    Position end;  // give it to Advance
  };

  static absl::StatusOr<std::unique_ptr<SegmentQueue>> Open(const Options& options);

  absl::Status Append(std::string_view record, uint32_t weight);

  // The oldest records that were not taken yet, at least one if there is any, and at most `max_weight` and
  // `max_bytes` together. They stay until Advance.
  absl::StatusOr<Batch> Peek(uint64_t max_weight, size_t max_bytes);

  // Everything before `end` is taken.
  absl::Status Advance(const Position& end);

  uint64_t bytes() const;
  uint64_t pending_weight() const;
  // Of what was dropped at the bound or because it was broken, since Open.
  uint64_t dropped_weight() const;

 private:
  struct Segment {
    uint64_t number = 0;
    uint64_t bytes = 0;
    uint64_t weight = 0;  // of its records that were not taken yet
  };

  explicit SegmentQueue(const Options& options) : options_(options) {}
  absl::Status Recover();
  absl::Status RecoverSegment(uint64_t number, bool last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string PathOf(uint64_t number) const;
  absl::Status BeginSegment() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropFront() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status SavePosition() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  mutable Mutex mu_;
  std::deque<Segment> segments_ ABSL_GUARDED_BY(mu_);  // oldest first; the last is written to
  UniqueFd writing_ ABSL_GUARDED_BY(mu_);
  Position taken_ ABSL_GUARDED_BY(mu_);
  uint64_t dropped_weight_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_REMOTE_SEGMENT_QUEUE_H_
