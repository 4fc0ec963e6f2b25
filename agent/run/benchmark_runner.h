// Takes one start of a benchmark from the scheduler to its record: asks the gate, runs the plugin while the
// gate keeps looking, and settles the budget.
//
// Thread-safety: all methods, any thread; Execute blocks until the run has ended and may run several times
// at once. Ownership: what Parts refers to outlives it.
#ifndef FLEETMARK_AGENT_RUN_BENCHMARK_RUNNER_H_
#define FLEETMARK_AGENT_RUN_BENCHMARK_RUNNER_H_

#include <string>
#include <string_view>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

#include "agent/facts/conditions.h"
#include "agent/gate/gate.h"
#include "agent/lease/lease_client.h"
#include "agent/schedule/budget.h"
#include "agent/spool/spool.h"
#include "common/base/clock.h"
#include "common/run/plugin_run.h"
#include "common/run/runner.h"

namespace fleetmark::agent {

class BenchmarkRunner {
 public:
  struct Parts {
    Runner& runner;
    Gate& gate;
    Budget& budget;
    Spool& spool;
    LeaseClient& leases;
    const ConditionsProbe& conditions;
    Clock& clock;
  };

  struct Options {
    absl::Duration retry_after = absl::Seconds(30);  // when the node is busy
    // A person who waits is told sooner.
    absl::Duration request_retry_after = absl::Seconds(2);
    absl::Duration lease_timeout = absl::Seconds(10);  // for the collector's answer
  };

  // What is to be run, and with what it has been paid.
  struct Job {
    PluginRunSpec spec;
    GateQuery query;
    absl::Duration reserved;  // by Budget::Begin
    bool needs_lease = false;
  };

  // The run did not begin, and should be tried again.
  static constexpr char kLease[] = "lease";
  struct NotNow {
    std::string why;    // for people
    std::string cause;  // for counting: a gate source's name, Gate::kCoolDown or kLease
    absl::Duration retry_after;
  };

  BenchmarkRunner(const Options& options, const Parts& parts) : options_(options), parts_(parts) {}

  // The run, with its outcome, or why it did not begin. `progress` is called in this thread.
  std::variant<v1::Run, NotNow> Execute(Job job, CancelToken& cancel,
                                        absl::FunctionRef<void(double, std::string_view)> progress);

 private:
  // What needs no leave any more.
  v1::Run Run(Job& job, const Conditions& before, CancelToken& cancel,
              absl::FunctionRef<void(double, std::string_view)> progress);

  const Options options_;
  const Parts parts_;
};

// The record of a scheduled run that never began.
v1::Run MissedRun(const PluginRunSpec& spec, const std::string& why);

// The record of a run that an earlier agent did not live to end; `run` as it was noted.
v1::Run LostRun(v1::Run run);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_RUN_BENCHMARK_RUNNER_H_
