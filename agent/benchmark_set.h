// The configured benchmarks, each resolved against the plugin that it uses: what there is to run.
//
// Thread-safety: a set never changes; it is shared as std::shared_ptr<const BenchmarkSet> and replaced whole.
#ifndef FLEETMARK_AGENT_BENCHMARK_SET_H_
#define FLEETMARK_AGENT_BENCHMARK_SET_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "agent/config.h"
#include "agent/schedule/schedule.h"
#include "agent/schedule/scheduler.h"
#include "common/plugin/catalog.h"
#include "common/plugin/params.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

struct PreparedBenchmark {
  v1::Benchmark benchmark;
  InstalledPlugin plugin;
  ResolvedParams params;
  std::optional<Schedule> schedule;  // none: disabled, runs only on request
};

// When the benchmark is due on this node, with its splay.
absl::StatusOr<Schedule> PrepareSchedule(const v1::Benchmark& benchmark, const std::string& node);

class BenchmarkSet {
 public:
  // InvalidArgument with every fault, each as "file:line:column: benchmark 'name': …": an unknown or broken
  // plugin, wrong parameters, a wrong schedule, another digest, root where it is not allowed, a program that
  // the user that plugins run as can't execute.
  static absl::StatusOr<std::shared_ptr<const BenchmarkSet>> Prepare(const AgentConfig& config,
                                                                     std::shared_ptr<const Catalog> catalog);

  // This set, which is the node's own, with the collector's plan. Where both have a benchmark of one name,
  // the node's own counts. InvalidArgument with every fault of the plan, one a line: those that Prepare
  // finds, and a plugin that takes programs as parameters and is not among `config.plan_plugins`.
  absl::StatusOr<std::shared_ptr<const BenchmarkSet>> WithPlan(const AgentConfig& config,
                                                               const v1::Plan& plan) const;

  const PreparedBenchmark* Find(const std::string& name) const;
  std::vector<Scheduler::Job> Jobs() const;
  std::vector<v1::Benchmark> Describe() const;
  const Catalog& catalog() const { return *catalog_; }

 private:
  std::shared_ptr<const Catalog> catalog_;
  std::vector<PreparedBenchmark> benchmarks_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_BENCHMARK_SET_H_
