// Keeps the node's facts current: finds them at start, at an interval and when asked, remembers them over
// restarts, and tells what changed.
//
// Thread-safety: all methods, any thread. The callback runs in the watcher's thread, or in Start's caller.
// Ownership: the clock outlives it; owns its thread and the file `facts.pb` in the folder.
#ifndef FLEETMARK_AGENT_FACTS_FACT_WATCHER_H_
#define FLEETMARK_AGENT_FACTS_FACT_WATCHER_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

#include "agent/facts/fact_events.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

class FactWatcher {
 public:
  struct Options {
    std::string folder;  // where the facts last told are kept
    std::string node;
    absl::Duration interval = absl::Hours(1);
    absl::Duration min_spacing = absl::Minutes(5);  // between looks, however often RefreshSoon is called
    std::function<std::vector<v1::Fact>()> collect;
    // Facts that differ from those last told, with the events that say how, limited as fact_events.h says;
    // or events alone that were held back. On the first start of a node there are no events. Returns whether
    // they are safe; else they are told again the next time.
    std::function<bool(const std::vector<v1::Fact>&, const std::vector<v1::Event>&)> on_change;
  };

  FactWatcher(Options options, Clock& clock) : options_(std::move(options)), clock_(clock) {}
  ~FactWatcher() { Stop(); }

  // Finds the facts once, in the caller's thread, then watches.
  void Start();
  void Stop();

  // Looks again as soon as `min_spacing` allows, in the watcher's thread. For after a run that looks odd.
  void RefreshSoon();

  std::vector<v1::Fact> facts() const;
  std::string digest() const;

 private:
  void Refresh();
  void Loop();
  MonoTime Due() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return refreshed_ + (soon_ ? options_.min_spacing : options_.interval);
  }

  const Options options_;
  Clock& clock_;
  FactEventLimiter limiter_;  // of whoever calls Refresh: Start, then the thread
  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool soon_ ABSL_GUARDED_BY(mu_) = false;
  MonoTime refreshed_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::Fact> facts_ ABSL_GUARDED_BY(mu_);
  std::string digest_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_FACT_WATCHER_H_
