#include "tests/fakes/fleet_simulator.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kNodesOfCommit = 500;

void MustBeOk(const absl::Status& status) {
  if (status.ok()) return;
  fprintf(stderr, "the simulated fleet can't write to the store: %s\n", status.ToString().c_str());
  abort();
}

}  // namespace

FleetSimulator::FleetSimulator(Store& store, const Options& options)
    : store_(store),
      options_(options),
      random_(options.seed),
      facts_(options.nodes),
      sequences_(options.nodes, 0) {
  std::normal_distribution<double> normal;
  for (size_t n = 0; n < options.nodes; ++n) {
    node_levels_.push_back(1 + options.node_spread * normal(random_));
    for (size_t d = 0; d < options.devices; ++d) {
      device_levels_.push_back(1 + options.device_spread * normal(random_));
    }
    facts_[n] = {{"cpu.model", "EPYC 7763"}, {"kernel.release", "6.1"}, {"os.hostname", Name(n)}};
    for (size_t d = 0; d < options.devices; ++d) {
      const std::string gpu = "gpu" + std::to_string(d);
      facts_[n][gpu + ".model"] = "A100";
      facts_[n][gpu + ".driver"] = "550.90";
      facts_[n][gpu + ".uuid"] = Name(n) + gpu;
    }
  }
}

void FleetSimulator::Register(size_t index) {
  v1::Node node;
  node.mutable_identity()->set_name(Name(index));
  (*node.mutable_identity()->mutable_labels())["rack"] = "r" + std::to_string(index / options_.rack_size);
  for (const auto& [name, value] : facts_[index]) {
    v1::Fact* fact = node.add_facts();
    fact->set_name(name);
    fact->set_value(value);
  }
  for (const char* name : {"stream", "gemm"}) {
    if (options_.devices == 0 && std::string(name) == "gemm") continue;
    v1::Benchmark* benchmark = node.add_benchmarks();
    benchmark->set_name(name);
    benchmark->set_enabled(true);
    benchmark->set_schedule("every " + std::to_string(options_.interval / absl::Minutes(1)) + "m");
  }
  node.set_state(v1::NODE_STATE_CONNECTED);
  MustBeOk(store_.PutNode(node));
}

void FleetSimulator::RegisterAll() {
  for (size_t n = 0; n < options_.nodes; ++n) Register(n);
}

void FleetSimulator::ChangeFact(size_t node, const std::string& name, const std::string& value,
                                absl::Time time) {
  v1::Event event;
  event.set_event_id(NewUlid(time));
  event.set_time_unix_ns(absl::ToUnixNanos(time));
  event.set_node(Name(node));
  event.set_kind(v1::Event::KIND_FACT_CHANGED);
  event.set_subject(name);
  event.set_old_value(facts_[node][name]);
  event.set_new_value(value);
  facts_[node][name] = value;
  Register(node);
  MustBeOk(store_.PutEvent(event));
}

double FleetSimulator::Value(const SimulatedRun& run, double level) {
  std::normal_distribution<double> normal;
  double noise = normal(random_);
  if (options_.correlation > 0) {
    double& last = noise_.emplace(run.node + run.benchmark + run.device, normal(random_)).first->second;
    const double fresh = std::sqrt(1 - options_.correlation * options_.correlation);
    noise = last = options_.correlation * last + fresh * noise;
  }
  double value = level * (1 + options_.noise * noise);
  for (const Effect& effect : effects_) value *= effect(run);
  return value;
}

void FleetSimulator::AddRun(size_t node, const std::string& benchmark, absl::Time time, v1::Trigger trigger,
                            SenderRecords* sender) {
  SimulatedRun simulated{Name(node), node, benchmark, "", time};
  if (missing_ && missing_(simulated)) return;
  v1::Record record;
  record.set_sequence(++sequences_[node]);
  v1::Run& run = *record.mutable_run();
  run.set_run_id(NewUlid(time));
  run.set_benchmark(benchmark);
  run.set_plugin(benchmark);
  run.set_plugin_version(plugin_version_);
  run.set_trigger(trigger);
  run.set_outcome(outcome_ ? outcome_(simulated) : v1::OUTCOME_OK);
  run.set_started_unix_ns(absl::ToUnixNanos(time));
  std::normal_distribution<double> normal;
  run.set_duration_seconds(seconds_ ? seconds_(simulated) : 20 + 0.2 * normal(random_));
  if (run.outcome() != v1::OUTCOME_OK) {
    run.set_reason("simulated");
  } else if (benchmark == "stream") {
    v1::Metric& metric = *run.add_metrics();
    metric.set_name("triad");
    metric.set_unit("GB/s");
    metric.set_better(v1::BETTER_HIGHER);
    metric.set_value(Value(simulated, 200 * node_levels_[node]));
  } else {
    for (size_t d = 0; d < options_.devices; ++d) {
      simulated.device = "gpu" + std::to_string(d);
      v1::Metric& metric = *run.add_metrics();
      metric.set_name("rate");
      metric.set_unit("GFLOP/s");
      metric.set_better(v1::BETTER_HIGHER);
      (*metric.mutable_labels())["device"] = simulated.device;
      metric.set_value(
          Value(simulated, 9000 * node_levels_[node] * device_levels_[node * options_.devices + d]));
    }
  }
  sender->records.push_back(std::move(record));
}

void FleetSimulator::Run(absl::Time from, absl::Time to) {
  std::vector<SenderRecords> batch;
  for (size_t n = 0; n < options_.nodes; ++n) {
    SenderRecords sender{Name(n), std::string(32, 'a'), {}};
    const absl::Duration offset =
        options_.interval * static_cast<double>(n) / static_cast<double>(options_.nodes);
    for (absl::Time time = from; time < to; time += options_.interval) {
      AddRun(n, "stream", time + offset, v1::TRIGGER_SCHEDULE, &sender);
      if (options_.devices > 0)
        AddRun(n, "gemm", time + offset + absl::Seconds(90), v1::TRIGGER_SCHEDULE, &sender);
    }
    if (!sender.records.empty()) batch.push_back(std::move(sender));
    if (batch.size() < kNodesOfCommit && n + 1 < options_.nodes) continue;
    MustBeOk(store_.Commit(batch).status());
    batch.clear();
  }
}

void FleetSimulator::RunNow(const std::string& node, const std::string& benchmark, absl::Time time) {
  SenderRecords sender{node, std::string(32, 'a'), {}};
  AddRun(std::stoul(node.substr(1)), benchmark, time, v1::TRIGGER_CONFIRM, &sender);
  MustBeOk(store_.Commit({sender}).status());
}

}  // namespace fleetmark::collector
