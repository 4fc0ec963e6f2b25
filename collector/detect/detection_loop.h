// The thread that judges series: takes those with new samples from the store, evaluates them
// (evaluation.h), writes findings and state back in one synced write a series, and tells about findings
// that opened or closed.
//
// A series stays dirty in the store until its evaluation is written, so nothing is missed over a restart;
// judging a sample twice changes nothing. Each pass over a series judges at most `max_fresh` samples; with
// more waiting it stays dirty for the next pass. A series that fails is left dirty, is skipped for the rest
// of the pass, and is tried again at the next wake-up.
//
// Thread-safety: all methods, any thread. Ownership: `store`, `clock` and `metrics` must outlive it; the
// destructor stops the thread after the series that it is at.
#ifndef FLEETMARK_COLLECTOR_DETECT_DETECTION_LOOP_H_
#define FLEETMARK_COLLECTOR_DETECT_DETECTION_LOOP_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "collector/detect/detector.h"
#include "collector/detect/reference_rules.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class Store;

class DetectionLoop {
 public:
  struct Options {
    Store* store = nullptr;
    Clock* clock = nullptr;
    Metrics* metrics = nullptr;
    std::vector<std::shared_ptr<const Detector>> detectors;
    ReferenceRules references;
    // Called in the loop's thread after a finding that opened or closed is stored. May be empty.
    std::function<void(const v1::Finding&)> on_finding;
    absl::Duration interval = absl::Seconds(30);  // at the latest, without Notify
    size_t batch = 256;                           // series asked of the store at once
    size_t max_history = 400;                     // samples that a new one is compared with
    size_t max_fresh = 1000;                      // new samples of a series in a pass
    // Events from this long before the onset until this long after it come with a finding: those of its
    // node, and those of no single node. The agent looks for changed facts once an hour.
    absl::Duration event_window = absl::Minutes(65);
    size_t max_events = 10;  // of either kind
  };

  explicit DetectionLoop(Options options);
  ~DetectionLoop();
  DetectionLoop(const DetectionLoop&) = delete;
  DetectionLoop& operator=(const DetectionLoop&) = delete;

  void Start();
  // Ends the thread. Idempotent.
  void Stop();

  // There are new samples.
  void Notify();

  // Judges everything that is dirty now, in the calling thread; for tests and tools, while not started.
  void RunOnce();

  // What is wrong with the references, one line for each rule; for the status page.
  std::vector<std::string> Problems() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_DETECT_DETECTION_LOOP_H_
