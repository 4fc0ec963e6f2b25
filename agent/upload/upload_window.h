// What has been sent to the collector and not been acknowledged yet: the bound on it, and from where to go
// on after a loss. Records themselves are not kept here; the spool has them until they are acknowledged.
//
// Thread-safety: none; the uploader's thread owns it.
#ifndef FLEETMARK_AGENT_UPLOAD_UPLOAD_WINDOW_H_
#define FLEETMARK_AGENT_UPLOAD_UPLOAD_WINDOW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace fleetmark::agent {

class UploadWindow {
 public:
  UploadWindow(size_t max_bytes, size_t max_batches) : max_bytes_(max_bytes), max_batches_(max_batches) {}

  // A connection begins: the collector has everything up to `acked`.
  void Reset(uint64_t acked) {
    in_flight_.clear();
    bytes_ = 0;
    acked_ = sent_ = acked;
    highest_sent_ = std::max(highest_sent_, acked);
  }

  // Another epoch: nothing was ever sent in it.
  void Forget() {
    highest_sent_ = 0;
    Reset(0);
  }

  // What is in flight will be sent again.
  void Rewind() { Reset(acked_); }

  void Sent(uint64_t last_sequence, size_t bytes) {
    in_flight_.push_back({last_sequence, bytes});
    bytes_ += bytes;
    sent_ = last_sequence;
    highest_sent_ = std::max(highest_sent_, sent_);
  }

  // False when the collector says that it has what was never sent to it: nothing is changed then. True,
  // and no change, for an older acknowledgement that comes late or twice.
  bool Acked(uint64_t sequence) {
    if (sequence > highest_sent_) return false;
    while (!in_flight_.empty() && in_flight_.front().last_sequence <= sequence) {
      bytes_ -= in_flight_.front().bytes;
      in_flight_.pop_front();
    }
    acked_ = std::max(acked_, sequence);
    sent_ = std::max(sent_, acked_);
    return true;
  }

  // A batch may always be sent when none is in flight, whatever its size.
  bool MaySend() const {
    return in_flight_.empty() || (bytes_ < max_bytes_ && in_flight_.size() < max_batches_);
  }

  bool empty() const { return in_flight_.empty(); }
  uint64_t sent() const { return sent_; }  // the next batch begins after it
  uint64_t acked() const { return acked_; }

 private:
  struct Batch {
    uint64_t last_sequence;
    size_t bytes;
  };

  const size_t max_bytes_;
  const size_t max_batches_;
  std::deque<Batch> in_flight_;
  size_t bytes_ = 0;
  uint64_t acked_ = 0;
  uint64_t sent_ = 0;
  uint64_t highest_sent_ = 0;  // over all connections of this epoch
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_UPLOAD_UPLOAD_WINDOW_H_
