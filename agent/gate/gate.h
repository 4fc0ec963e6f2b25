// Is the node free for this run, and does it stay so? Asks every source; each decision has its reason.
//
// Before a run the first source that does not say free decides; one that can't tell counts as busy. During a
// run a thread asks all sources about five times a second, and cancels the run when user work arrives, or
// when a source can't tell for longer than `unknown_patience`. With no run under way it sleeps.
//
// Thread-safety: all methods, any thread. BeforeRun blocks as long as its sources do.
// Ownership: owns the sources and its thread; the clock outlives it.
#ifndef FLEETMARK_AGENT_GATE_GATE_H_
#define FLEETMARK_AGENT_GATE_GATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

#include "agent/gate/gate_source.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/run/cancel_token.h"

namespace fleetmark::agent {

class Gate {
 public:
  struct Options {
    absl::Duration cool_down;  // between the end of a run and the next one
    absl::Duration watch_interval = absl::Milliseconds(200);
    absl::Duration unknown_patience = absl::Seconds(5);
  };

  Gate(const Options& options, std::vector<std::unique_ptr<GateSource>> sources, Clock& clock);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // A reason begins with the source's name: "slurm: job 1234 runs here". `by` is that name, or kCoolDown.
  GateAnswer BeforeRun(const GateQuery& query);

  static constexpr char kCoolDown[] = "cool_down";

  struct SourceState {
    std::string name;
    std::optional<GateAnswer::State> last;  // its last answer; none: it was not asked yet
    uint64_t runs_ended = 0;
  };
  std::vector<SourceState> source_states() const;  // in the order in which they are asked

  // A run that is being watched, until this is destroyed, which also begins the cool-down.
  class Watch {
   public:
    Watch(Gate& gate, GateQuery query, CancelToken& cancel);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // The run has begun; `reaper` is the parent of its processes. Any thread.
    void Began(pid_t reaper);

   private:
    friend class Gate;

    Gate& gate_;
    const GateQuery query_;
    CancelToken& cancel_;
    std::atomic<pid_t> reaper_ = 0;
    MonoTime unknown_since_ = MonoTime::InfiniteFuture();  // the gate's thread alone
  };

 private:
  void Loop();
  void Look(Watch& watch);
  void End(Watch& watch, size_t source, const std::string& why);
  void Note(size_t source, const GateAnswer& answer);

  const Options options_;
  const std::vector<std::unique_ptr<GateSource>> sources_;
  Clock& clock_;
  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::list<Watch*> watches_ ABSL_GUARDED_BY(mu_);
  Watch* looking_at_ ABSL_GUARDED_BY(mu_) = nullptr;  // it must not go away meanwhile
  MonoTime cool_until_ ABSL_GUARDED_BY(mu_);
  mutable Mutex states_mu_;
  std::vector<SourceState> states_ ABSL_GUARDED_BY(states_mu_);
  std::thread thread_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_GATE_H_
