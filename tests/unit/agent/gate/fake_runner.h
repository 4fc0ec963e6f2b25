// A Runner that starts nothing: it says what a test tells it to.
#ifndef FLEETMARK_TESTS_UNIT_AGENT_GATE_FAKE_RUNNER_H_
#define FLEETMARK_TESTS_UNIT_AGENT_GATE_FAKE_RUNNER_H_

#include <string>

#include "common/run/runner.h"

namespace fleetmark::agent {

class FakeRunner final : public Runner {
 public:
  absl::StatusOr<RunOutcome> Run(const RunSpec& spec, absl::FunctionRef<bool(std::string_view)> on_line,
                                 absl::FunctionRef<void(std::string_view)> on_log, CancelToken&) override {
    ++runs;
    last = spec;
    if (!out.empty()) on_line(out);
    if (!err.empty()) on_log(err);
    return outcome;
  }

  std::string out = "NodeName=n1 Arch=x86_64 CPUAlloc=0 State=IDLE ThreadsPerCore=1";
  std::string err;
  RunOutcome outcome;
  RunSpec last;
  int runs = 0;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_TESTS_UNIT_AGENT_GATE_FAKE_RUNNER_H_
