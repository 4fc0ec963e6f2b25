// Fleetmark's own protocol: a stream for each node, messages of one run or of many, every one acknowledged
// once it is durable. Blocks of nodes are connected at a time and go through their steps together.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

#include "bench/store/fleet_load.h"
#include "common/base/clock.h"
#include "common/base/ulid.h"
#include "fleetmark/v1/agent.grpc.pb.h"

namespace fleetmark::bench {
namespace {

// As when a fleet reports its runs, and as when agents come back with what they kept.
constexpr int kNodesAtOnce = 500;
constexpr int kNodesAtOnceInBulk = 16;
constexpr int kWindow = 4;  // messages of a stream that are not acknowledged yet

[[noreturn]] void Die(const std::string& what) {
  fprintf(stderr, "store_load: %s\n", what.c_str());
  std::exit(1);
}

class NodeStream {
 public:
  NodeStream(v1::AgentService::Stub* stub, const LoadOptions& options, int node)
      : options_(options), node_(node), stream_(stub->Connect(&context_)) {
    v1::AgentMessage message;
    v1::Hello& hello = *message.mutable_hello();
    hello.set_protocol(1);
    hello.mutable_node()->set_name(NodeName(node));
    hello.set_epoch("00000000000000000000000000000001");
    hello.set_agent_version("bench");
    hello.set_time_unix_ns(absl::ToUnixNanos(RealClock().Now()));
    if (!stream_->Write(message)) Die("a stream did not open");
    v1::CollectorMessage answer;
    if (!stream_->Read(&answer)) Die(stream_->Finish().error_message());
    sequence_ = static_cast<uint64_t>(options.first_step);
  }

  void Send(int64_t first_step, int64_t steps) {
    v1::AgentMessage message;
    for (int64_t step = first_step; step < first_step + steps; ++step) {
      v1::Record& record = *message.mutable_records()->add_records();
      record.set_sequence(++sequence_);
      FillRun(step, record.mutable_run());
    }
    if (!stream_->Write(message)) Die(stream_->Finish().error_message());
    sent_.push_back(sequence_);
    AwaitAcks(kWindow);
  }

  void Finish() {
    AwaitAcks(0);
    context_.TryCancel();
    (void)stream_->Finish();
  }

 private:
  void FillRun(int64_t step, v1::Run* run) const {
    const int64_t time_ms = TimeMs(options_.t0_ms, node_, step, options_.jitter_ms);
    run->set_run_id(NewUlid(absl::FromUnixMillis(time_ms)));
    run->set_benchmark("fleet_bench");
    run->set_plugin("fleet_bench");
    run->set_plugin_version("1.0.0");
    run->set_params_digest("0011223344556677");
    run->set_outcome(v1::OUTCOME_OK);
    run->set_started_unix_ns(time_ms * 1'000'000);
    run->set_duration_seconds(12);
    for (int metric = 0; metric < options_.metrics; ++metric) {
      v1::Metric& to = *run->add_metrics();
      to.set_name(MetricName(metric));
      to.set_unit("GB/s");
      to.set_better(v1::BETTER_HIGHER);
      to.set_value(ValueOf(node_, metric, step));
    }
  }

  void AwaitAcks(size_t at_most) {
    v1::CollectorMessage answer;
    while (sent_.size() > at_most) {
      if (!stream_->Read(&answer)) Die(stream_->Finish().error_message());
      if (answer.has_pause()) Die("the collector is full");
      if (!answer.has_ack()) continue;
      while (!sent_.empty() && sent_.front() <= answer.ack().sequence()) sent_.erase(sent_.begin());
    }
  }

  const LoadOptions& options_;
  const int node_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CollectorMessage>> stream_;
  uint64_t sequence_ = 0;
  std::vector<uint64_t> sent_;
};

void SendNodes(const LoadOptions& o, v1::AgentService::Stub* stub, int first, int end) {
  std::vector<std::unique_ptr<NodeStream>> streams;
  for (int node = first; node < end; ++node) streams.push_back(std::make_unique<NodeStream>(stub, o, node));
  const int64_t runs_each = std::max(1, o.samples_per_request / o.metrics);
  const int64_t last = o.first_step + o.steps;
  for (int64_t step = o.first_step; step < last; step += runs_each) {
    for (auto& stream : streams) stream->Send(step, std::min(runs_each, last - step));
  }
  for (auto& stream : streams) stream->Finish();
}

}  // namespace

void SendFleetmark(const LoadOptions& o) {
  std::vector<std::thread> threads;
  const bool bulk = o.samples_per_request > o.metrics;
  const int nodes_each = std::max(1, (bulk ? kNodesAtOnceInBulk : kNodesAtOnce) / o.connections);
  for (int thread = 0; thread < o.connections; ++thread) {
    threads.emplace_back([&o, thread, nodes_each] {
      grpc::ChannelArguments arguments;
      arguments.SetInt("thread", thread);  // a connection of its own
      const auto stub = v1::AgentService::NewStub(grpc::CreateCustomChannel(
          absl::StrCat("127.0.0.1:", o.port), grpc::InsecureChannelCredentials(), arguments));
      for (int first = thread * nodes_each; first < o.nodes; first += o.connections * nodes_each) {
        SendNodes(o, stub.get(), o.first_node + first, o.first_node + std::min(o.nodes, first + nodes_each));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace fleetmark::bench
