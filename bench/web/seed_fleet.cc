// Fills a collector with a made-up fleet over its own protocol, to try the dashboard: nodes in racks, of
// three classes, with five metrics, and with things that go wrong among them. A pure function of its
// arguments and the time, so that a test knows what it must see:
//
//   driver    on a tenth of the nodes the GPU driver was updated at 0.8 of the way, and `gemm` lost 9 %
//   disks     in rack r002 disk latency grew by 60 % at 0.75
//   broken    node n00007's memory bandwidth fell to 0.3 of what it was at half the way
//   hot       node n00016's GPUs throttle from 0.9 on: `gemm` loses 22 %
//   dying     node n00013's disk reads ever slower from 0.7 on, to 0.55, and its runs begin to fail at 0.9
//   faster    a new BLAS made `gemm` of the large CPU nodes 6 % faster at half the way
//   failures  one run in 60 ends badly, with a log
//   silent    every 50th node is not connected in the end
//   busy      every 12th node waits, since a job is on it
//
// With --hostile, node n00003's label, log, reason and note hold what must never be taken for HTML.
// With --hold it stays connected, measures again at each step, and answers requests to run now, until it is
// told to end. With --demo each node has the label simulated=yes, by which the page says what it shows.
// --owner=TEXT is a mark by which a script finds the process again.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

#include "bench/store/fleet_load.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/ulid.h"
#include "fleetmark/v1/agent.grpc.pb.h"

namespace fleetmark::bench {
namespace {

constexpr char kHostile[] = "<img src=x onerror=\"document.title='owned'\"> & <b>bold</b> {{7*7}} \u202e'\"`";
constexpr int kNodesAtOnce = 200;
constexpr int kNodesPerRack = 20;
constexpr int64_t kRunsPerMessage = 64;

struct SeedOptions {
  int port = 9410;
  int nodes = 1000;
  int64_t runs = 40;  // of each benchmark
  int64_t step_seconds = 3600;
  int connections = 4;
  int parts = 0;  // further metrics of `stream`, beside the five
  bool hostile = false;
  bool hold = false;
  bool demo = false;
};

[[noreturn]] void Die(const std::string& what) {
  fprintf(stderr, "seed_fleet: %s\n", what.c_str());
  std::exit(1);
}

std::string SeedNode(int node) { return absl::StrFormat("n%05d", node); }
bool IsGpu(int node) { return node % 4 == 0; }
bool IsLarge(int node) { return node % 8 == 1 || node % 8 == 2; }
bool HasNewDriver(int node) { return node % 20 == 0 || node % 20 == 8; }
constexpr double kDriverUpdated = 0.8;
constexpr int kBrokenNode = 7, kHotNode = 16, kDyingNode = 13;
int RackOf(int node) { return node / kNodesPerRack; }
bool IsSilent(int node) { return node % 50 == 49; }
bool IsBusy(int node) { return node % 12 == 5; }

struct MetricSpec {
  const char* benchmark;
  const char* metric;
  const char* unit;
  const char* label;  // kernel=…; empty: none
  v1::Better better;
  double mean;
  double noise;
};
constexpr std::array<MetricSpec, 5> kSpecs = {{
    {"stream", "bandwidth", "GB/s", "copy", v1::BETTER_HIGHER, 204, 0.008},
    {"stream", "bandwidth", "GB/s", "triad", v1::BETTER_HIGHER, 181, 0.008},
    {"gemm", "performance", "GFLOP/s", "", v1::BETTER_HIGHER, 1510, 0.006},
    {"disk", "read_latency", "us", "", v1::BETTER_LOWER, 84, 0.02},
    {"disk", "read_bandwidth", "MB/s", "", v1::BETTER_HIGHER, 3180, 0.012},
}};
constexpr std::array<const char*, 3> kBenchmarks = {"stream", "gemm", "disk"};

// How much of its mean a metric reaches at `done` (0 to 1) of the time.
double Effect(int node, size_t spec, double done) {
  const bool gemm = spec == 2, latency = spec == 3, read = spec == 4;
  if (gemm && HasNewDriver(node) && done >= kDriverUpdated) return 0.91;
  if (gemm && node == kHotNode && done >= 0.9) return 0.78;
  if (read && node == kDyingNode && done >= 0.7) return 1 - 0.45 * (done - 0.7) / 0.3;
  if (gemm && IsLarge(node) && done >= 0.5) return 1.06;
  if (latency && RackOf(node) == 2 && done >= 0.75) return 1.6;
  if (spec <= 1 && node == kBrokenNode && done >= 0.5) return 0.3;
  return 1;
}

double SeedValue(int node, size_t spec, int64_t step, int64_t steps) {
  const MetricSpec& s = kSpecs[spec];
  const uint64_t series = static_cast<uint64_t>(node) * 16 + spec;
  const double of_class =
      s.better == v1::BETTER_LOWER ? 1 : (IsGpu(node) ? 9.0 : (IsLarge(node) ? 2.0 : 1.0));
  const double own = 1 + 0.012 * Normal(Mixed(series * 3 + 1));
  const double noise = 1 + s.noise * Normal(Mixed(series * 0x100000 + static_cast<uint64_t>(step)));
  return s.mean * of_class * own * noise *
         Effect(node, spec, static_cast<double>(step) / static_cast<double>(steps));
}

void AddFact(const std::string& name, const std::string& value, v1::Hello* hello) {
  v1::Fact& fact = *hello->add_facts();
  fact.set_name(name);
  fact.set_value(value);
}

class SeedStream {
 public:
  SeedStream(v1::AgentService::Stub* stub, const SeedOptions& options, int node)
      : options_(options),
        node_(node),
        end_ns_(absl::ToUnixNanos(RealClock().Now()) - 60'000'000'000),
        stream_(stub->Connect(&context_)) {
    v1::AgentMessage message;
    FillHello(message.mutable_hello());
    if (!stream_->Write(message)) Die("a stream did not open");
    v1::CollectorMessage answer;
    if (!stream_->Read(&answer)) Die(stream_->Finish().error_message());
    sequence_ = answer.welcome().acked_sequence();
  }

  void SendHistory() {
    if (sequence_ > 0) return;  // seeded before
    v1::AgentMessage message;
    for (int64_t step = 0; step < options_.runs; ++step) {
      AddStep(step, &message);
      if (message.records().records_size() >= kRunsPerMessage) Flush(&message);
    }
    Flush(&message);
  }

  // The `step`-th runs after the history, from 0 on.
  void SendStep(int64_t step) {
    MutexLock lock(mu_);
    v1::AgentMessage message;
    AddStep(options_.runs + step, &message);
    Flush(&message);
  }

  void SendHeartbeat() {
    MutexLock lock(mu_);
    v1::AgentMessage message;
    v1::Heartbeat& beat = *message.mutable_heartbeat();
    const int64_t now = absl::ToUnixNanos(RealClock().Now());
    beat.set_time_unix_ns(now);
    beat.set_next_benchmark(kBenchmarks[static_cast<size_t>(node_) % 3]);
    beat.set_next_due_unix_ns(now + (node_ % 60) * 60'000'000'000);
    if (IsBusy(node_)) beat.set_waits_for(absl::StrCat("job ", 4711 + node_, " is here"));
    if (node_ % 97 == 1) {
      beat.set_running_benchmark("gemm");
      beat.set_running_run_id(NewUlid(RealClock().Now()));
    }
    beat.set_budget_used(0.3);
    stream_->Write(message);
  }

  // Plays a run that is asked for. Until the stream ends.
  void Serve() {
    v1::CollectorMessage asked;
    while (stream_->Read(&asked)) {
      if (!asked.has_run_now()) continue;
      Play(asked.run_now());
    }
  }

  void AwaitAcks() {
    v1::CollectorMessage answer;
    while (acked_ < sequence_) {
      if (!stream_->Read(&answer)) Die(stream_->Finish().error_message());
      if (answer.has_pause()) Die("the collector is full");
      if (answer.has_ack()) {
        for (const v1::Refusal& refusal : answer.ack().refused()) Die(refusal.reason());
        acked_ = answer.ack().sequence();
      }
    }
  }

  void Cancel() { context_.TryCancel(); }
  void Finish() {
    context_.TryCancel();
    (void)stream_->Finish();
  }

 private:
  void FillHello(v1::Hello* hello) const {
    hello->set_protocol(1);
    v1::NodeIdentity& identity = *hello->mutable_node();
    identity.set_name(SeedNode(node_));
    auto& labels = *identity.mutable_labels();
    labels["rack"] = absl::StrFormat("r%03d", RackOf(node_));
    labels["class"] = IsGpu(node_) ? "gpu" : (IsLarge(node_) ? "cpu-large" : "cpu");
    labels["cluster"] = node_ % 2 == 0 ? "north" : "south";
    if (options_.hostile && node_ == 3) labels["owner"] = kHostile;
    if (options_.demo) labels["simulated"] = "yes";
    hello->set_epoch(absl::StrFormat("%032d", 1));
    hello->set_agent_version("0.1.0");
    hello->set_time_unix_ns(absl::ToUnixNanos(RealClock().Now()));
    AddFact("kernel.release", node_ % 3 == 0 ? "6.1.0-28-amd64" : "6.1.0-25-amd64", hello);
    AddFact("cpu.model", IsLarge(node_) ? "EPYC 9654" : "EPYC 9354", hello);
    AddFact("cpu.microcode", "0xa101148", hello);
    AddFact("memory.total", IsLarge(node_) ? "1.5 TiB" : "768 GiB", hello);
    if (IsGpu(node_)) {
      AddFact("gpu.count", "8", hello);
      AddFact("gpu.driver", HasNewDriver(node_) ? "570.86" : "560.35", hello);
    }
    hello->set_facts_digest(absl::StrFormat("%016d", node_));
    for (const char* name : kBenchmarks) {
      v1::Plugin& plugin = *hello->add_plugins();
      plugin.set_name(name);
      plugin.set_version("1.0.0");
      if (node_ % 40 == 11 && std::string(name) == "disk") plugin.set_problem("fio is not installed");
      v1::Benchmark& benchmark = *hello->add_benchmarks();
      benchmark.set_name(name);
      benchmark.set_plugin(name);
      benchmark.set_schedule(absl::StrCat("every ", options_.step_seconds, "s"));
      benchmark.set_enabled(true);
      benchmark.set_suite("default");
    }
    hello->set_first_sequence(1);
  }

  void AddStep(int64_t step, v1::AgentMessage* message) {
    for (size_t benchmark = 0; benchmark < kBenchmarks.size(); ++benchmark) {
      FillRun(step, benchmark, NextRecord(message)->mutable_run());
    }
    AddEvents(step, message);
  }

  v1::Record* NextRecord(v1::AgentMessage* message) {
    v1::Record* record = message->mutable_records()->add_records();
    record->set_sequence(++sequence_);
    return record;
  }

  void Flush(v1::AgentMessage* message) {
    if (message->records().records().empty()) return;
    if (!stream_->Write(*message)) Die(stream_->Finish().error_message());
    message->Clear();
  }

  int64_t TimeOf(int64_t step) const {
    const int64_t jitter = static_cast<int64_t>(Mixed(static_cast<uint64_t>(node_)) % 240) * 1'000'000'000;
    return end_ns_ - (options_.runs - 1 - step) * options_.step_seconds * 1'000'000'000 - jitter;
  }

  void FillRun(int64_t step, size_t benchmark, v1::Run* run) const {
    const int64_t time = TimeOf(step) - static_cast<int64_t>(benchmark) * 300'000'000'000;
    run->set_run_id(NewUlid(absl::FromUnixNanos(time)));
    run->set_benchmark(kBenchmarks[benchmark]);
    run->set_plugin(kBenchmarks[benchmark]);
    run->set_plugin_version("1.0.0");
    run->set_params_digest("0011223344556677");
    run->set_trigger(v1::TRIGGER_SCHEDULE);
    run->set_started_unix_ns(time);
    run->set_duration_seconds(12);
    const uint64_t luck = Mixed(static_cast<uint64_t>(node_ * 1000 + step * 3) + benchmark) % 60;
    const bool hostile = options_.hostile && node_ == 3 && step == options_.runs - 1 && benchmark == 0;
    const bool dies =
        node_ == kDyingNode && benchmark == 2 && step * 10 >= options_.runs * 9 && step % 2 == 0;
    if (luck == 0 || hostile || dies) return FillFailure(step, hostile, run);
    run->set_outcome(v1::OUTCOME_OK);
    run->set_ending(v1::ENDING_DONE);
    run->set_log_tail(absl::StrCat(run->benchmark(), ": 12 s on ", SeedNode(node_), "\ndone\n"));
    for (size_t spec = 0; spec < kSpecs.size(); ++spec) {
      if (run->benchmark() != kSpecs[spec].benchmark) continue;
      v1::Metric& metric = *run->add_metrics();
      metric.set_name(kSpecs[spec].metric);
      metric.set_unit(kSpecs[spec].unit);
      metric.set_better(kSpecs[spec].better);
      metric.set_value(SeedValue(node_, spec, step, options_.runs));
      if (kSpecs[spec].label[0] != '\0') (*metric.mutable_labels())["kernel"] = kSpecs[spec].label;
    }
    for (int part = 0; benchmark == 0 && part < options_.parts; ++part) {
      v1::Metric& metric = *run->add_metrics();
      metric.set_name(absl::StrFormat("part_%02d", part));
      metric.set_unit("GB/s");
      metric.set_better(v1::BETTER_HIGHER);
      metric.set_value(SeedValue(node_, 0, step * 64 + part, options_.runs * 64));
    }
  }

  void FillFailure(int64_t step, bool hostile, v1::Run* run) const {
    switch (step % 4) {
      case 0:
        run->set_outcome(v1::OUTCOME_TIMEOUT);
        run->set_ending(v1::ENDING_TIMEOUT);
        run->set_reason("took longer than 5m0s");
        break;
      case 1:
        run->set_outcome(v1::OUTCOME_CANCELLED);
        run->set_ending(v1::ENDING_GATE);
        run->set_reason(absl::StrCat("job ", 4711 + node_, " came to the node"));
        break;
      default:
        run->set_outcome(v1::OUTCOME_FAILED);
        run->set_ending(v1::ENDING_EXIT_STATUS);
        run->set_exit_status(3);
        run->set_reason("ended with status 3");
        run->set_log_tail("allocating 64 GiB\nallocation failed: Cannot allocate memory\n");
    }
    if (!hostile) return;
    run->set_outcome(v1::OUTCOME_FAILED);
    run->set_reason(kHostile);
    run->set_log_tail(absl::StrCat(kHostile, "\n</pre><script>document.title='owned'</script>\n"));
  }

  void AddEvents(int64_t step, v1::AgentMessage* message) {
    const auto event = [&](v1::Event::Kind kind) {
      v1::Event* e = NextRecord(message)->mutable_event();
      e->set_event_id(NewUlid(absl::FromUnixNanos(TimeOf(step))));
      e->set_time_unix_ns(TimeOf(step) - 900'000'000'000);
      e->set_node(SeedNode(node_));
      e->set_kind(kind);
      e->set_author("agent");
      return e;
    };
    if (HasNewDriver(node_) &&
        step == static_cast<int64_t>(std::ceil(kDriverUpdated * static_cast<double>(options_.runs)))) {
      v1::Event* e = event(v1::Event::KIND_FACT_CHANGED);
      e->set_subject("gpu.driver");
      e->set_old_value("560.35");
      e->set_new_value("570.86");
      e->set_message("gpu.driver changed from 560.35 to 570.86");
    }
    if (node_ == kBrokenNode && step == options_.runs / 2)
      event(v1::Event::KIND_BOOTED)->set_message("the node has booted");
    if (options_.hostile && node_ == 3 && step == options_.runs - 1) {
      v1::Event* e = event(v1::Event::KIND_FACT_CHANGED);
      e->set_subject("os.release");
      e->set_old_value("Debian 12");
      e->set_new_value(kHostile);
      e->set_message(kHostile);
    }
  }

  void Say(const v1::RunNow& asked, v1::RunProgress::State state, double fraction, const std::string& what,
           const v1::Run* run) {
    MutexLock lock(mu_);
    v1::AgentMessage message;
    v1::RunProgress& progress = *message.mutable_progress();
    progress.set_request_id(asked.request_id());
    progress.set_state(state);
    progress.set_fraction(fraction);
    progress.set_message(what);
    if (run != nullptr) *progress.mutable_run() = *run;
    stream_->Write(message);
  }

  void Play(const v1::RunNow& asked) {
    if (IsBusy(node_)) {
      return Say(asked, v1::RunProgress::STATE_REFUSED, 0, absl::StrCat("job ", 4711 + node_, " is here"),
                 nullptr);
    }
    Say(asked, v1::RunProgress::STATE_QUEUED, 0, "", nullptr);
    for (int part = 1; part <= 4; ++part) {
      Say(asked, v1::RunProgress::STATE_RUNNING, part / 5.0, absl::StrCat("part ", part, " of 5"), nullptr);
      WaitFor(RealClock(), absl::Milliseconds(250));
    }
    v1::Run run;
    for (size_t i = 0; i < kBenchmarks.size(); ++i) {
      if (kBenchmarks[i] == asked.benchmark()) FillRun(options_.runs - 1, i, &run);
    }
    const int64_t now = absl::ToUnixNanos(RealClock().Now());
    run.set_run_id(NewUlid(RealClock().Now()));
    run.set_started_unix_ns(now - 1'000'000'000);
    run.set_duration_seconds(1);
    run.set_trigger(v1::TRIGGER_MANUAL);
    run.set_request_id(asked.request_id());
    Say(asked, v1::RunProgress::STATE_FINISHED, 1, "", &run);
    MutexLock lock(mu_);
    v1::AgentMessage message;
    *NextRecord(&message)->mutable_run() = run;
    Flush(&message);
  }

  const SeedOptions& options_;
  const int node_;
  Mutex mu_;  // of what is sent once the stream is held
  const int64_t end_ns_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CollectorMessage>> stream_;
  uint64_t sequence_ = 0;
  uint64_t acked_ = 0;
};

std::unique_ptr<v1::AgentService::Stub> Connect(const SeedOptions& options, int connection) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("connection", connection);  // a connection of its own
  return v1::AgentService::NewStub(grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", options.port),
                                                             grpc::InsecureChannelCredentials(), arguments));
}

void SeedBlock(const SeedOptions& options, v1::AgentService::Stub* stub, int first, int end) {
  std::vector<std::unique_ptr<SeedStream>> streams;
  for (int node = first; node < end; ++node)
    streams.push_back(std::make_unique<SeedStream>(stub, options, node));
  for (auto& stream : streams) stream->SendHistory();
  for (auto& stream : streams) stream->AwaitAcks();
  for (auto& stream : streams) stream->Finish();
}

void Seed(const SeedOptions& options) {
  std::vector<std::thread> threads;
  for (int t = 0; t < options.connections; ++t) {
    threads.emplace_back([&options, t] {
      const auto stub = Connect(options, t);
      for (int first = t * kNodesAtOnce; first < options.nodes; first += options.connections * kNodesAtOnce) {
        SeedBlock(options, stub.get(), first, std::min(options.nodes, first + kNodesAtOnce));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Until SIGTERM or SIGINT. Runs on demand are answered by the first nodes alone: each needs a thread.
void Hold(const SeedOptions& options, const sigset_t& signals) {
  constexpr int kServingNodes = 16;
  std::vector<std::unique_ptr<v1::AgentService::Stub>> stubs;
  for (int t = 0; t < options.connections; ++t) stubs.push_back(Connect(options, t));
  std::vector<std::unique_ptr<SeedStream>> streams;
  std::vector<std::thread> serving;
  for (int node = 0; node < options.nodes; ++node) {
    if (IsSilent(node)) continue;
    auto* stub = stubs[static_cast<size_t>(node) % stubs.size()].get();
    streams.push_back(std::make_unique<SeedStream>(stub, options, node));
    streams.back()->SendHeartbeat();
    if (node < kServingNodes) serving.emplace_back([s = streams.back().get()] { s->Serve(); });
  }
  printf("holding %zu nodes\n", streams.size());
  fflush(stdout);
  const timespec step{.tv_sec = options.step_seconds, .tv_nsec = 0};
  for (int64_t i = 0; sigtimedwait(&signals, nullptr, &step) < 0; ++i) {
    for (auto& stream : streams) {
      stream->SendStep(i);
      stream->SendHeartbeat();
    }
  }
  for (auto& stream : streams) stream->Cancel();
  for (std::thread& thread : serving) thread.join();
  for (auto& stream : streams) stream->Finish();
}

int IntFlag(const std::string& text, const std::string& name, int value) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, absl::StrCat("--", name, "="))) return value;
  int number = 0;
  if (!absl::SimpleAtoi(rest, &number) || number <= 0) Die(absl::StrCat(text, ": not a number above 0"));
  return number;
}

int Main(const std::vector<std::string>& arguments) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  SeedOptions o;
  for (const std::string& argument : arguments) {
    o.port = IntFlag(argument, "port", o.port);
    o.nodes = IntFlag(argument, "nodes", o.nodes);
    o.runs = IntFlag(argument, "runs", static_cast<int>(o.runs));
    o.parts = IntFlag(argument, "parts", o.parts);
    o.step_seconds = IntFlag(argument, "step_seconds", static_cast<int>(o.step_seconds));
    o.hostile = o.hostile || argument == "--hostile";
    o.hold = o.hold || argument == "--hold";
    o.demo = o.demo || argument == "--demo";
    if (argument == "--help") {
      printf(
          "seed_fleet [--port=N] [--nodes=N] [--runs=N] [--step_seconds=N] [--parts=N] [--hostile] "
          "[--hold] [--demo] [--owner=TEXT]\n");
      return 0;
    }
  }
  const MonoTime begin = RealClock().Mono();
  Seed(o);
  printf("seeded %d nodes with %lld runs each in %.1f s\n", o.nodes,
         static_cast<long long>(o.runs * static_cast<int64_t>(kBenchmarks.size())),
         absl::ToDoubleSeconds(RealClock().Mono() - begin));
  fflush(stdout);
  if (o.hold) Hold(o, signals);
  return 0;
}

}  // namespace
}  // namespace fleetmark::bench

int main(int argc, char** argv) { return fleetmark::bench::Main({argv + 1, argv + argc}); }
