// Takes notices to their receivers. Each receiver has its own thread and its own queue, so that one that
// hangs holds nobody else up. What waits is in the store (alert_tables.h) and stays there until it was taken
// or given up; here is only the order in which it is sent.
//
//   - Notices of one alert go out in the order in which they were made, each only after the one before.
//   - What failed is tried again with jittered, growing pauses: one alert's when only it fails, all of a
//     receiver's when it can't be reached, asks for a pause, or fails three times in a row.
//   - Refused for good, or not taken within `give_up_after`: given up, kept among the dead, and counted.
//   - After a crash, what was being sent is sent again with the same notice_id.
//
// Thread-safety: all methods, any thread. Ownership: owns its threads and senders; clock and metrics must
// outlive it. The callbacks are called with no lock held, and must be callable until Stop has returned.
#ifndef FLEETMARK_COLLECTOR_NOTIFY_NOTIFIER_H_
#define FLEETMARK_COLLECTOR_NOTIFY_NOTIFIER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "collector/notify/notice_sender.h"
#include "collector/store/alert_tables.h"
#include "common/base/backoff.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class Notifier {
 public:
  struct Receiver {
    std::string name;
    std::unique_ptr<NoticeSender> sender;
  };
  struct Options {
    Clock* clock = nullptr;
    Metrics* metrics = nullptr;
    // The notice was taken, or given up. After an error it is sent again.
    std::function<absl::Status(const StoredNotice&, bool delivered, const std::string& text)> finish;
    // What fires and was told to the receiver.
    std::function<std::vector<std::shared_ptr<const v1::Alert>>(const std::string& receiver)> told_to;
    Backoff::Options backoff{.first = absl::Seconds(1), .max = absl::Minutes(5)};
    absl::Duration give_up_after = absl::Hours(72);
    uint64_t seed = 1;  // of the jitter
  };

  Notifier(Options options, std::vector<Receiver> receivers);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void Start();
  // Notices that wait, for receivers that there are. Only takes them.
  void Take(std::vector<StoredNotice> notices);
  // Sets what it is given before the threads are joined, so that requests under way can be broken off.
  void Stop(std::atomic<bool>* cancelled);

  // Without `dead`.
  std::vector<v1::ReceiverStatus> Status() const;

 private:
  class Worker;
  const Options options_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_NOTIFY_NOTIFIER_H_
